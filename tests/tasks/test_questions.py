"""Every question of every task: Python, HTTP and --json give one object; bad input one line."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient
from task_runs import TRAININGS, WITH_ELMO, sample_request

import elman
from elman.cli import run as run_command
from elman.errors import InputError
from elman.json_safe import json_safe
from elman.studio.app import build
from elman.studio.served import load_served
from elman.tasks import TASKS
from elman.tasks.question import NAME, TEXT, TEXTS, Question, check_request, make_request

pytestmark = pytest.mark.usefixtures("without_curves")
OWN_COMMANDS = {"inspect"}  # it compares several runs: {"runs": […]}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> Any:
    """The run folder of a task, trained when it is first asked for."""

    @cache
    def train(task: str) -> Path:
        place = tmp_path_factory.mktemp(task)
        (TRAININGS | WITH_ELMO)[task](place)
        return place / "run"

    return train


PAIRS = [
    pytest.param(task, name, id=f"{task}-{name}")
    for task, entry in TASKS.items()
    for name in entry.questions
]


ASKED = [*PAIRS, *(pytest.param(task, "embed", id=f"{task}-embed") for task in WITH_ELMO)]


@pytest.fixture(scope="module")
def clients(folders: Any) -> Iterator[Any]:
    """A client of the server with the run of a task, started when it is first asked for."""
    with ExitStack() as started:

        @cache
        def start(task: str) -> TestClient:
            app = build(load_served([str(folders(task))]))
            return started.enter_context(TestClient(app, base_url="http://127.0.0.1:8000"))

        yield start


@pytest.fixture
def asking(folders: Any, task: str, name: str) -> tuple[Any, Question, dict[str, Any]]:
    """A trained model, one of its questions and values for it; a skip if it cannot answer it."""
    trained = elman.load(folders(task))
    if name not in trained.questions:
        with pytest.raises(InputError, match=f"does not support elman {name}"):
            trained.ask(name)
        pytest.skip(f"the model of this run cannot answer {name}")
    question = trained.questions[name]
    return trained, question, sample_request(name, question)


@pytest.fixture
def client(clients: Any, task: str) -> TestClient:
    started: TestClient = clients(task)
    return started


@pytest.mark.parametrize("task", TASKS)
def test_the_table_of_tasks_says_what_the_questions_say(task: str) -> None:
    questions = TASKS[task].load_questions()
    assert TASKS[task].questions == {name: each.about for name, each in questions.items()}
    assert task in TRAININGS


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_a_request_describes_every_field(task: str, name: str) -> None:
    question = TASKS[task].load_questions()[name]
    assert is_dataclass(question.request)
    assert question.about.endswith(".")
    for one in fields(question.request):
        assert one.metadata["about"].strip().endswith(("…", ".")), one.name


@pytest.mark.parametrize(("task", "name"), ASKED)
def test_the_answer_is_plain_data_and_lines(asking: Any, name: str) -> None:
    trained, _, given = asking
    answer = trained.ask(name, **given)
    text = json.dumps(json_safe(answer.to_data()), allow_nan=False)
    assert isinstance(json.loads(text), dict)
    assert all(isinstance(line, str) for line in [*answer.lines(), *answer.notes()])
    assert "".join(answer.lines()).strip()


@pytest.mark.parametrize(("task", "name"), ASKED)
def test_http_gives_what_python_gives(
    asking: Any, client: TestClient, task: str, name: str, folders: Any
) -> None:
    _, question, given = asking
    response = client.post(f"/v1/{name}", json=given)
    assert response.status_code == 200, response.text
    assert response.headers["X-Elman-Model"] == "run"
    trained = load_served([str(folders(task))]).find("run").trained  # as precise as the server's
    with torch.inference_mode():
        answer = question.ask(trained, make_request(question.request, given))
    assert response.json() == json.loads(json.dumps(json_safe(answer.to_data())))


@pytest.mark.parametrize(("task", "name"), ASKED)
def test_the_command_gives_what_python_gives(
    asking: Any, name: str, folders: Any, task: str, tmp_path: Path, capsys: Any
) -> None:
    trained, question, given = asking
    if name in OWN_COMMANDS:
        pytest.skip("compares several runs")
    arguments = [name, str(folders(task)), "--json"]
    file = tmp_path / "file.txt"
    for one in fields(question.request):
        value = given.get(one.name)
        if one.metadata["kind"] == NAME:
            given[one.name] = str(file)
        if value is None or value is False:
            continue
        flag = f"--{one.name.replace('_', '-')}"
        if one.metadata["kind"] in (TEXT, TEXTS):
            texts = [value] if isinstance(value, str) else value
            lines = ["\t".join(text) if isinstance(text, list) else text for text in texts]
            file.write_text("\n".join(lines) + "\n")
            arguments.insert(2, str(file))
            given[one.name] = f"{value}\n" if isinstance(value, str) else value
        elif one.metadata["kind"] == "argument":
            arguments.insert(2, value)
        elif name == "translate" and one.name == "attention":
            given["attention"] = False  # the flag names a file to write
        elif value is True:
            arguments.append(flag)
        else:
            value = value[0] if isinstance(value, list) else value  # a flag is one text
            given[one.name] = value
            arguments += [flag, str(value)]
    capsys.readouterr()
    assert run_command(arguments) == 0
    answer = trained.ask(name, **given)
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps(json_safe(answer.to_data()))
    )


@pytest.mark.parametrize(("task", "name"), ASKED)
def test_the_size_of_batches_changes_nothing(asking: Any, name: str) -> None:
    trained, question, given = asking
    if "batch_size" not in [one.name for one in fields(question.request)]:
        pytest.skip("reads one text")
    alone, together = (trained.ask(name, **given, batch_size=size).to_data() for size in (1, 64))
    assert _rounded(alone) == _rounded(together)


def _rounded(data: Any) -> Any:
    """Numbers as far as 32 bits carry them."""
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value) for value in data]
    return pytest.approx(data, rel=1e-3, abs=1e-4) if isinstance(data, float) else data


@pytest.mark.parametrize(("task", "name"), ASKED)
def test_what_makes_no_sense_gets_one_line(asking: Any, client: TestClient, name: str) -> None:
    trained, question, given = asking
    bad: list[dict[str, Any]] = [{**given, "nonsense": 1}]
    for one in fields(question.request):
        known = one.metadata
        if known["required"]:
            bad += [{**given, one.name: type(given[one.name])()}, _without(given, one.name)]
        if known["at_least"] is not None and not known["terminal"]:
            bad.append({**given, one.name: known["at_least"] - 1})
        if known["choices"]:
            bad.append({**given, one.name: "nonsense"})
    for each in bad:
        with pytest.raises(InputError) as refused:
            trained.ask(name, **each)
        assert str(refused.value).count("\n") == 0
        response = client.post(f"/v1/{name}", json=each)
        assert response.status_code == 400, (each, response.text)
        assert "\n" not in response.json()["error"]["message"]


def _without(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}


@pytest.mark.parametrize(("task", "name"), ASKED)
def test_the_schema_is_that_of_the_request(asking: Any, client: TestClient, name: str) -> None:
    _, question, _ = asking
    (told,) = [one for one in client.get("/v1/questions").json()["data"] if one["id"] == name]
    own = {one.name: one for one in fields(question.request) if not one.metadata["terminal"]}
    properties = told["schema"]["properties"]
    assert told["about"] == question.about
    assert told["models"] == ["run"]
    assert list(properties) == ["model", *own]
    assert told["schema"].get("required", []) == [n for n in own if own[n].metadata["required"]]
    for field_name, one in own.items():
        assert properties[field_name]["description"] == one.metadata["about"]


def test_types_are_strict(clients: Any) -> None:
    for wrong in ({"text": 1}, {"text": "a", "top": "5"}, {"text": "a", "complete": 1}):
        assert clients("counting").post("/v1/suggest", json=wrong).status_code == 400


def test_fields_for_the_terminal_are_no_part_of_http(clients: Any) -> None:
    asked = {"prompt": "the", "measure": True, "against": "/etc/passwd"}
    response = clients("counting").post("/v1/generate", json=asked)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "against: no such field"


def test_a_request_in_bounds_passes() -> None:
    suggest = TASKS["counting"].load_questions()["suggest"].request
    check_request(suggest(text="", top=1))
    with pytest.raises(InputError, match="top is 0; give at least 1"):
        check_request(suggest(text="", top=0))


@pytest.mark.parametrize("task", TASKS)
def test_a_run_keeps_examples_that_its_first_question_takes(folders: Any, task: str) -> None:
    trained = elman.load(folders(task))
    samples = trained.facts["samples"]
    assert samples, "a run keeps examples of its validation data"
    for sample in samples:
        name, question = next(
            (name, each)
            for name, each in trained.questions.items()
            if sample.keys() <= {one.name for one in fields(each.request)}
        )
        kinds = {one.name: one.metadata["kind"] for one in fields(question.request)}
        request = {key: [text] if kinds[key] == TEXTS else text for key, text in sample.items()}
        assert trained.ask(name, **request).to_data()
