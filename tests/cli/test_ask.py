"""Commands made from questions: a new task gets its commands without further code."""

import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from elman.cli import command_names, run
from elman.cli.ask import make_flags
from elman.models import MODELS
from elman.tasks import TASKS, TaskEntry
from elman.tasks.question import STDIN, TEXTS, Question, asked
from elman.tasks.trained import Trained


@dataclass(frozen=True, kw_only=True)
class Shout:
    """Say it louder."""

    texts: list[str] = asked("Texts to shout.", kind=TEXTS)
    marks: int = asked("How many marks.", default=1, at_least=1)
    ending: str = asked("What comes last.", default="", kind=STDIN)
    numbers: list[list[float]] = asked("No flag can hold these.", factory=list)


@dataclass(frozen=True)
class Shouted:
    texts: list[str]

    def to_data(self) -> dict[str, Any]:
        return {"texts": self.texts, "loudness": float("inf")}

    def lines(self) -> list[str]:
        return self.texts

    def notes(self) -> list[str]:
        return ["mind your neighbours"]


def shout(trained: Any, request: Shout, progress: Any) -> Shouted:
    if "" in request.texts:
        raise ValueError
    marks = "!" * request.marks + request.ending
    return Shouted([text.upper() + marks for text in request.texts])


QUESTION = Question(Shout, shout)


@pytest.fixture(autouse=True)
def shouting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A task of another package, and a run of it."""
    folder, module = ModuleType("shouting"), ModuleType("shouting.questions")
    module.QUESTIONS = {"shout": QUESTION}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shouting", folder)
    monkeypatch.setitem(sys.modules, "shouting.questions", module)
    task = SimpleNamespace(config=SimpleNamespace(kind="shouter"))
    trained = Trained(task, model=None, facts={}, name="run")
    monkeypatch.setattr("elman.cli.ask.load", lambda path: trained)
    TASKS["shouting"] = TaskEntry("shouts", "shouting.task:Shouting", {"shout": "Say it louder."})
    MODELS["shouter"] = SimpleNamespace(task="shouting")
    yield
    del TASKS["shouting"], MODELS["shouter"]


def test_it_is_a_command_with_help_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert "shout" in command_names()
    assert run(["--help"]) == 0
    tasks = capsys.readouterr().out.split("─ Tasks ─")[1]
    assert re.search(r"│ shout +Say it louder\.", tasks)
    assert run(["shout", "--help"]) == 0
    shown = capsys.readouterr().out
    for said in ("Say it louder.", "elman shout runs/mine FILE", "How many marks. [default: 1]"):
        assert said in shown
    assert "--numbers" not in shown


def test_it_reads_files_standard_input_and_text(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lines").write_text("a\nb\n")
    assert run(["shout", "run", str(tmp_path / "lines"), "--marks", "2"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("A!!\nB!!\n", "note: mind your neighbours\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"c\n")))
    assert run(["shout", "run", "-"]) == 0
    assert capsys.readouterr().out == "C!\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"?\n")))
    assert run(["shout", "run", "--text", "d", "--ending", "-", "--json"]) == 0
    assert capsys.readouterr().out == '{\n "texts": [\n  "D!?"\n ],\n "loudness": null\n}\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a file or --text"),
        (["--text", ""], "--text is empty"),
        (["gone.txt"], "gone.txt: no such file"),
        (["--text", "a", "--marks", "0"], "--marks is 0; give at least 1"),
        (["--text", "a", "--marks", "1.5"], "'1.5' is not a whole number"),
        (["--text", "a", "--with", "cache"], "--with"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["shout", "run", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert message in printed.err


def test_a_run_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tag", "run", "--text", "a"]) == 2
    assert capsys.readouterr().err == (
        "elman: run: a run of the model 'shouter' does not support elman tag; it supports: "
        "evaluate, shout\n"
    )


def test_tasks_that_share_a_question_share_its_request() -> None:
    requests: dict[str, set[type]] = {}
    for task in TASKS:
        for name, question in TASKS[task].load_questions().items():
            requests.setdefault(name, set()).add(question.request)
            assert TASKS[task].questions[name] == question.about
            assert make_flags(question.request)
    assert all(len(found) == 1 for found in requests.values())
    assert set(requests) <= set(command_names())
