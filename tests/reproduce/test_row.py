"""`elman.reproduce`: one row with its result and verdict."""

import json
from pathlib import Path

import pytest

import elman
from elman.cli import run
from elman.errors import InputError


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELMAN_DATA", raising=False)
    return tmp_path


def test_a_row_that_comes_with_elman(elsewhere: Path) -> None:
    found = elman.reproduce("ptb", "kn5")
    assert found.row.published == 141.2
    assert found.result is not None
    assert f"{found.result.measured:.2f}" == "141.19"
    assert found.verdict.kind == "reproduced"
    assert not Path("reproduced").exists()  # looking writes nothing


def test_the_data_is_that_of_the_command(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "ptb", "--json"]) == 0
    rows = {entry["row"]["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert json.loads(json.dumps(elman.reproduce("ptb", "kn5").to_data())) == rows["kn5"]


def test_a_row_is_run_once_and_kept(place: Path) -> None:
    before = elman.reproduce("toy", "counts", out="mine")
    assert before.result is None
    assert before.verdict.kind == "not run"
    told: list[str] = []
    found = elman.reproduce("toy", "counts", run=True, out="mine", progress=told.append)
    assert found.result is not None
    assert found.verdict.kind in ("reproduced", "better")  # its tolerance is wide
    assert told
    del told[:]
    again = elman.reproduce("toy", "counts", run=True, out="mine", progress=told.append)
    assert (again.result, told) == (found.result, [])
    assert elman.reproduce("toy", "counts", out="mine").result == found.result
    elman.reproduce("toy", "counts", run=True, again=True, out="mine", progress=told.append)
    assert told


def test_a_table_of_ones_own(elsewhere: Path) -> None:
    (elsewhere / "mine.toml").write_text(
        'title = "mine"\nsource = "us"\nmetric = "perplexity"\ndata = "grammar"\n'
        '[rows.counts]\nabout = "bigram"\nrecipe = "ngram"\nsettings = ["model.order=2"]\n'
    )
    found = elman.reproduce("mine.toml", "counts", run=True)
    assert found.result is not None
    assert str(found.verdict) == "ours"


def test_what_is_wrong_is_said(elsewhere: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'ptb'"):
        elman.reproduce("ptbb", "kn5")
    with pytest.raises(InputError, match="did you mean 'kn5'"):
        elman.reproduce("ptb", "kn6")
    with pytest.raises(InputError, match="the dataset 'ptb' is missing"):
        elman.reproduce("ptb", "kn5", run=True)
    with pytest.raises(InputError, match="give run=True too"):
        elman.reproduce("ptb", "kn5", again=True)
    with pytest.raises(InputError, match="elmo squad: quoted"):
        elman.reproduce("elmo", "squad", run=True)
