"""Runs with a component from another package: saved, loaded, refused without the package."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from elman.cells import CELLS
from elman.cells.elman_rnn import ElmanRNN
from elman.errors import InputError, UnknownName
from elman.runs.folder import read_run
from elman.tasks.saved_runs import explaining_what_is_missing
from elman.tasks.task import load, train

SMALL = ["model.cell=own-cell", "model.hidden_size=4", "model.embedding_size=4"]
SMALL += ["training.epochs=1", "training.window=8"]


@pytest.fixture
def own_cell() -> Iterator[None]:
    CELLS["own-cell"] = ElmanRNN
    yield
    CELLS.pop("own-cell", None)


@pytest.mark.usefixtures("own_cell")
def test_a_run_keeps_what_it_owes(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b c d\nb c d a\n" * 40)
    run = tmp_path / "run"
    trained = train("small", data=text, out=run, overrides=SMALL)
    assert trained.facts["packages"] == {"cell own-cell": ""}
    assert read_run(run, ("facts.json",))["facts.json"]["packages"] == {"cell own-cell": ""}
    ids = torch.tensor([[1, 2, 3]])
    again = load(run).model
    with torch.no_grad():
        ours, theirs = (each.score(ids, each.start(1))[0] for each in (trained.model, again))
    assert torch.equal(ours, theirs)
    del CELLS["own-cell"]
    with pytest.raises(InputError, match=r"run: its cell 'own-cell' was added in Python; add it"):
        load(run)


def missing(facts: object, member: str = "cell leaky") -> str:
    with (
        pytest.raises(InputError) as error,
        explaining_what_is_missing(Path("run"), facts),
    ):
        raise UnknownName("unknown cell 'leaky'; known: lstm", member)
    return str(error.value)


def test_what_is_missing_is_said() -> None:
    assert missing({"packages": {"cell leaky": "leaky-cell 0.1"}}) == (
        "run: its cell 'leaky' is not part of elman; it came with leaky-cell 0.1, which is not "
        "installed here: pip install it"
    )


@pytest.mark.parametrize(
    "facts",
    [
        {},
        None,
        {"packages": 3},
        {"packages": {"cell leaky": 3}},
        {"packages": {"cell other": "a 1"}},
    ]
    + [{"packages": {"cell leaky": bad}} for bad in ("\x1b[2J 1", "a; curl b | sh", "a 1\n", "a")],
    ids=str,
)
def test_forged_facts_are_not_repeated(facts: object) -> None:
    assert missing(facts) == "run: unknown cell 'leaky'; known: lstm"


@pytest.mark.usefixtures("own_cell")
def test_a_folder_cannot_say_what_is_imported(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('was imported')")
    for name in ("planted", "planted:Cell", "elman.cells.lstm:LSTM"):
        with pytest.raises(UnknownName, match="unknown cell"):
            CELLS.choose(name)
    assert "planted" not in sys.modules
