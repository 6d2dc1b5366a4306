"""Results in notebooks: HTML in which everything is escaped, data frames, progress bars."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny import train_tiny, write_sentences

import elman
from elman.errors import InputError
from elman.evaluation.attention_map import AttentionMap
from elman.evaluation.surprisal import SurprisalTable, WordSurprisal
from elman.notebooks import (
    NotebookBar,
    Table,
    count_in_notebook,
    in_notebook,
    make_frame,
    table_html,
)
from elman.training.history import Records, read_history
from elman.training.machine import Machine

HOSTILE = '<script>alert("1")</script> & \' "'


class _Parser(HTMLParser):
    """The elements and the text of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.content = ""
        self.tips: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)
        self.tips += [value for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.content += data


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("notebook")
    data = write_sentences(place / "data")
    elman.train("ngram", data=str(data), out=place / "words")
    train_tiny(data, place / "network")
    return place


def _row(word: str, surprisal: float) -> WordSurprisal:
    return WordSurprisal(1, 1, word, surprisal, surprisal, 1.0, 1, 1, False)


def test_tables_escape_everything() -> None:
    shown = _Parser(table_html(Table([HOSTILE], [[HOSTILE], [None], [1234567], [0.5]]), HOSTILE))
    assert "script" not in shown.elements
    assert shown.content.count(HOSTILE) == 3
    assert "1,234,567" in shown.content


def test_long_tables_say_what_is_missing() -> None:
    shown = _Parser(table_html(Table(["n"], [[n] for n in range(250)])))
    assert shown.elements.count("tr") == 201
    assert "50 more rows" in shown.content


def test_surprisals() -> None:
    rows = SurprisalTable([_row(HOSTILE, 3.0), _row("b", float("inf")), _row("<eos>", 1.0)])
    shown = _Parser(rows._repr_html_())
    assert shown.elements == ["div", "span", "span", "br"]
    assert HOSTILE in shown.content
    assert shown.tips == ["3.00", "inf"]
    assert list(rows.to_frame()["surprisal"]) == [3.0, float("inf"), 1.0]
    assert rows == [*rows]  # still a list


def test_attention() -> None:
    found = AttentionMap((HOSTILE, "b"), ("x", "y", "z"), np.full((3, 2), 0.5))
    shown = _Parser(found._repr_html_())
    assert "script" not in shown.elements
    assert shown.elements.count("td") == 6
    assert list(found.to_frame().columns) == ["", HOSTILE, "b"]
    assert found.to_frame().shape == (3, 3)


def test_histories(place: Path) -> None:
    run = elman.load(place / "network")
    records = run.history()
    assert records == read_history(place / "network") != []
    frame = records.to_frame()
    assert len(frame) == len(records)
    assert {"epoch", "step"} <= {*frame.columns}
    assert "svg" in _Parser(records._repr_html_()).elements
    assert elman.load(place / "words").history() == []
    hostile = Records(
        [{"epoch": 1.0, f"{HOSTILE}perplexity": 2.0}, {"epoch": 2.0, "note": HOSTILE}]
    )
    assert "script" not in _Parser(hostile._repr_html_()).elements


@pytest.mark.parametrize("name", ["words", "network"])
def test_models_measures_and_answers(name: str, place: Path) -> None:
    run = elman.load(place / name, elman.TrainedModel).named(HOSTILE)
    shown = _Parser(run._repr_html_())
    assert "script" not in shown.elements
    assert HOSTILE in shown.content
    measured = run.evaluate(str(place / "data"))
    frame = measured.to_frame()
    assert frame["value"][0] == measured.perplexity
    assert "protocol" in _Parser(measured._repr_html_()).content
    suggested = run.ask("suggest", text="the", top=3)
    assert list(suggested.to_frame().columns) == ["token", "probability"]
    assert "table" in _Parser(suggested._repr_html_()).elements
    answer = run.ask("surprisal", text="the <b>cat</b>")
    assert "b" not in _Parser(answer._repr_html_()).elements
    assert len(answer.to_frame()) == len(answer.to_data()["words"])


def test_comparisons(place: Path) -> None:
    runs = [elman.load(place / name) for name in ("words", "network")]
    frame = elman.compare(runs, str(place / "data")).to_frame()
    assert len(frame) == 2
    assert "perplexity" in frame.columns


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'elman\[data\]'"):
        make_frame(Table(["a"], [[1]]))


class _Notebook:
    """Stands in for IPython in a notebook; collects what is displayed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        shell = SimpleNamespace(kernel=object())
        handle = SimpleNamespace(update=self.shown.append)

        def display(html: str, display_id: bool) -> Any:
            self.shown.append(html)
            return handle

        shows = SimpleNamespace(HTML=str, display=display)
        module = SimpleNamespace(get_ipython=lambda: shell, display=shows)
        monkeypatch.setitem(sys.modules, "IPython", module)
        monkeypatch.setitem(sys.modules, "IPython.display", shows)


def test_bars_appear_in_notebooks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()

    def quiet(amount: int, total: int) -> None:
        raise AssertionError

    assert count_in_notebook("tokens", quiet) is quiet
    notebook = _Notebook(monkeypatch)
    assert in_notebook()
    count = count_in_notebook("<b>tokens", quiet)
    count(30, 100)
    count(70, 100)
    assert 'value="0.3000"' in notebook.shown[0]
    assert 'value="1.0000"' in notebook.shown[1]
    assert "&lt;b&gt;tokens: 100 of 100" in notebook.shown[1]
    NotebookBar().show(7.0, "")
    assert 'value="1.0000"' in notebook.shown[2]


def test_training_shows_a_bar_in_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_sentences(tmp_path / "data")
    notebook = _Notebook(monkeypatch)
    run = train_tiny(data, None, machine=Machine())
    assert "epoch 2.00 of 2 · perplexity" in notebook.shown[-1]
    assert notebook.shown[0].startswith("<progress")
    before = len(notebook.shown)
    run.evaluate(str(data))
    assert "tokens: " in notebook.shown[-1]
    assert len(notebook.shown) > before
