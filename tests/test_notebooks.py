"""Results in notebooks: HTML in which everything is escaped, data frames, progress bars."""

import re
import sys
from html import escape
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
from elman.tasks.language_modelling.count_models import merge_models, prune_model
from elman.tasks.translation.questions import Translations
from elman.tasks.translation.trained import Written
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


def _cells(html: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", html)


def test_a_column_of_numbers_has_the_same_decimals() -> None:
    html = table_html(Table(["a", "b", "c"], [["x", 0.5, 1e-9], ["y", 0.0771, 12.0]]))
    assert _cells(html) == ["x", "0.5000", "1e-09", "y", "0.0771", "12.00"]
    assert html.count("text-align:left") == 3  # the first column with its name
    measures = table_html(Table(["m", "value"], [["perplexity", 5.534], ["tokens", 7285]]))
    assert _cells(measures) == ["perplexity", "5.534", "tokens", "7,285"]
    mixed = table_html(Table(["", "value"], [["cell", "lstm"], ["size", 1200]]))
    assert "text-align:right" not in mixed
    assert _cells(mixed) == ["cell", "lstm", "size", "1,200"]


def test_nested_values_are_short() -> None:
    rows = [[["a", HOSTILE], [[0.123456789, 2], [3]], {"k": 1.23456}, "x" * 999]]
    cells = _cells(table_html(Table(["a", "b", "c", "d"], rows)))
    assert cells[1:3] == ["(0.1235, 2), (3)", "k: 1.235"]
    assert cells[0] == f"a {escape(HOSTILE)}"
    assert len(cells[3]) < 410


def test_one_wide_row_is_turned() -> None:
    names = [f"n{number}" for number in range(9)]
    shown = _Parser(table_html(Table(names, [[*range(9)]])))
    assert shown.elements.count("tr") == 10
    assert shown.elements.count("td") == 18


def test_merges_prunings_and_plans(place: Path) -> None:
    words, data = str(place / "words"), str(place / "data")
    merged = merge_models([words, words], place / "both.arpa", data=data)
    frame = merged.to_frame()
    assert list(frame["model"]) == [words, words, "merged"]
    assert frame["perplexity"][2] == merged.perplexity
    pruned = prune_model(words, place / "small.arpa", keep=10, data=data)
    frame = pruned.to_frame()
    assert list(frame["order"])[-2:] == ["all", "perplexity"]
    assert list(frame["after"])[-2:] == [sum(pruned.ngrams), pruned.perplexity]
    assert "perplexity" in _Parser(pruned._repr_html_()).content
    cost = elman.plan("ngram", data=data)
    assert dict(cost.to_frame().values.tolist())["tokens"] == cost.tokens


def test_a_saved_count_model_has_the_name_of_its_folder(place: Path, tmp_path: Path) -> None:
    run = elman.train("ngram", data=str(place / "data"), out=tmp_path / "kn")
    assert run.name == str(tmp_path / "kn")
    assert str(tmp_path / "kn") in _Parser(run._repr_html_()).content


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


def test_translations_show_their_maps() -> None:
    seen = AttentionMap(("a",), ("x", "y"), np.ones((2, 1)))
    found = [[Written("x y", -1.5, -0.75), Written("x", -2.0, -1.0)]]
    one = Translations([HOSTILE], found, several=False, maps=[seen])
    assert list(one.to_frame().columns) == ["source", "text", "log_prob", "score"]
    assert list(one.to_frame()["text"]) == ["x y"]
    shown = _Parser(one._repr_html_())
    assert shown.elements.count("table") == 2
    assert "script" not in shown.elements
    several = Translations([HOSTILE], found, several=True).to_frame()
    assert list(several["rank"]) == [1, 2]
    assert list(several["text"]) == ["x y", "x"]


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
