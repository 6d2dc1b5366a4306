"""`elman embed` and `elman import elmo`, as people and scripts call them."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from small_elmo import LINES, small_elmo

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture(scope="module")
def elmo(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> str:
    folder = tmp_path_factory.mktemp("elmo")
    small_elmo(folder)
    return str(folder / "elmo")


@pytest.fixture
def fails(call: Any) -> Any:
    """The message of a command that must fail."""

    def failing(*arguments: str) -> str:
        result = call(*arguments)
        assert (result.code, result.out) == (2, "")
        said: str = result.err
        return said

    return failing


def test_vectors_as_a_table_and_as_json(says: Any, gives: Any, elmo: str) -> None:
    rows = [line.split("\t") for line in says("embed", elmo, "--text", "the cat").splitlines()]
    assert rows[0] == ["line", "position", "word", "layer", "vector"]
    assert [row[1:4] for row in rows[1:]] == [
        [place, word, layer] for place, word in (("1", "the"), ("2", "cat")) for layer in "012"
    ]
    (data,) = gives("embed", elmo, "--text", "the cat")["lines"]
    assert data["words"] == ["the", "cat"]
    table = np.array([row[4].split() for row in rows[1:]], dtype=float).reshape(2, 3, 12)
    np.testing.assert_allclose(table.transpose(1, 0, 2), data["layers"], atol=1e-5)
    for layer, name in (("1", "1"), ("mix", "mix")):
        rows = says("embed", elmo, "--text", "the cat", "--layer", layer).splitlines()[1:]
        assert [row.split("\t")[3] for row in rows] == [name, name]


def test_standard_input(gives: Any, elmo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the cat\n\ndogs\n")))
    lines = gives("embed", elmo, "-")["lines"]
    assert [line["words"] for line in lines] == [["the", "cat"], [], ["dogs"]]


def test_states_carried_between_lines(gives: Any, elmo: str, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("the cat\ndogs\n")
    text = str(tmp_path / "lines.txt")
    fresh, carried = (
        [np.array(line["layers"]) for line in gives("embed", elmo, text, *options)["lines"]]
        for options in ((), ("--carry-state", "1"))
    )
    np.testing.assert_allclose(fresh[0], carried[0], atol=1e-6)
    assert not np.allclose(fresh[1], carried[1], atol=1e-4)


def test_a_file_of_vectors(says: Any, fails: Any, elmo: str, tmp_path: Path) -> None:
    out = str(tmp_path / "some.safetensors")
    assert "2 words; saved in" in says("embed", elmo, "--text", "the cat", "--out", out)
    with safe_open(out, "numpy") as file:
        assert file.get_tensor("line.1").shape == (3, 2, 12)
    assert "exists already" in fails("embed", elmo, "--text", "a", "--out", out)
    says("embed", elmo, "--text", "a", "--out", out, "--overwrite")


def test_nearest(says: Any, gives: Any, elmo: str, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    text = str(tmp_path / "lines.txt")
    shown = says("embed", elmo, text, "--nearest", "cat:4", "--top", "2")
    assert shown.startswith("cat, in line 4: the <unk> [cat] saw London")
    assert "without context" in shown
    found = gives("embed", elmo, text, "--nearest", "cat:4", "--same-word")
    assert [one["line"] for one in found["occurrences"]].count(1) == 1
    assert {one["word"] for one in found["occurrences"]} == {"cat"}
    assert found["query"]["position"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "a", "--layer", "7"], "choose all, mix, or a number from 0 to 2"),
        (["--text", "a", "--nearest", "b"], "'b' is not in the text"),
        (["--text", "a", "--same-word"], "--same-word needs nearest"),
        (
            ["--text", "a", "--nearest", "a", "--carry-state", "1"],
            "cannot be combined with nearest",
        ),
        (["--text", "a", "--carry-state", "-1"], "--carry-state is -1; give at least 0"),
        (["--text", "a", "--top", "0"], "--top is 0; give at least 1"),
        (["--text", "a", "--out", "x.txt"], "must end in .safetensors"),
        (["--text", "a", "--out", "x.safetensors", "--json"], "cannot be combined with --json"),
        (["--text", ""], "--text is empty"),
        ([], "give either a file or --text"),
        (["nowhere.txt"], "nowhere.txt: no such file"),
    ],
)
def test_bad_input(fails: Any, elmo: str, arguments: list[str], message: str) -> None:
    assert message in fails("embed", elmo, *arguments)


def test_runs_that_have_no_vectors(fails: Any) -> None:
    assert "does not support elman embed" in fails("embed", "words", "--text", "the cat")


def test_import_of_published_weights(says: Any, gives: Any, fails: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    from elmo_files import write_elmo

    options, weights = map(str, write_elmo(tmp_path))
    out = str(tmp_path / "run")
    assert "parameters; saved in" in says("import", "elmo", options, weights, "--out", out)
    (line,) = gives("embed", out, "--text", "The naïve cat")["lines"]
    assert np.array(line["layers"]).shape == (3, 3, 14)
    assert "exists already" in fails("import", "elmo", options, weights, "--out", out)
    other = str(tmp_path / "other")
    assert "elman import elmo OPTIONS WEIGHTS" in fails("import", "elmo", options, "--out", other)
    assert "elman import elmo OPTIONS" in fails("import", options, weights, "--out", other)
    assert "no such file" in fails("import", "nowhere.arpa", "--out", other).lower()
    facts = json.loads((tmp_path / "run" / "facts.json").read_text())
    assert len(facts["data"]["sha256"]) == 2


def test_import_without_h5py(fails: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("h5py")
    from elmo_files import write_elmo

    options, weights = map(str, write_elmo(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    said = fails("import", "elmo", options, weights, "--out", str(tmp_path / "run"))
    assert "pip install 'elman[elmo]'" in said
    assert said.count("\n") == 1
