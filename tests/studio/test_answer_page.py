"""Answers over HTTP and in the studio: the same object as in Python, cut by code points."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Watched, opened_browser
from facts import write_facts
from fastapi.testclient import TestClient
from live import running

import elman
from elman.studio.app import build
from elman.studio.served import Served, load_served

QUESTION = "Who has the lamp?"
PASSAGE = "🎟️🎟️ Zoë 👩‍👩‍👧 went. Ada took the old lamp 💡."
SMALL = ["model.num_layers=1", "model.hidden_size=5", "model.embedding_size=4"]


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Served:
    place = tmp_path_factory.mktemp("answerer")
    data = str(write_facts(place / "facts", train=8, valid=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        overrides = [*SMALL, "training.epochs=1"]
        out = place / "answerer"
        elman.train("answerer", data=data, out=out, overrides=overrides, seed=1)
    return load_served([str(place / "answerer")])


@pytest.fixture
def page(answerer: Served) -> Iterator[Any]:
    with opened_browser() as browser, running(answerer) as address:
        watched = Watched(browser, address)
        yield watched.open("try")
        watched.context.close()
        assert watched.complaints == []


def test_an_answer_over_http_is_that_of_python(answerer: Served) -> None:
    with TestClient(build(answerer), base_url="http://127.0.0.1:8000") as client:
        response = client.post("/v1/answer", json={"question": QUESTION, "passage": PASSAGE})
    found = answerer.find("answerer").trained.answer(QUESTION, PASSAGE)
    whole = {"id": "1", "question": QUESTION, **json.loads(json.dumps(found.to_data()))}
    assert response.json() == {"answers": [whole]}
    assert found.to_data()["answer"] == PASSAGE[found.start : found.end]


def test_the_documented_fields_are_those_that_come(answerer: Served) -> None:
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("| `/v1/answer`")]
    found = answerer.find("answerer").trained.answer(QUESTION, PASSAGE)
    assert all(f'"{name}"' in line for name in found.to_data())


def test_the_page_marks_the_answer_after_an_emoji(page: Any, answerer: Served) -> None:
    found = answerer.find("answerer").trained.answer(QUESTION, PASSAGE)
    assert found.start > 4, "the answer must stand after the emoji"
    page.get_by_label("One or several questions").fill(QUESTION)
    page.get_by_label("The passage that contains the answer").fill(PASSAGE)
    page.get_by_role("button", name="Answer").click()
    page.locator(".result .sum").wait_for()
    assert page.locator(".result mark").inner_text() == found.text
    assert page.locator(".result .sum b").inner_text() == found.text
    assert page.locator(".result .passage").inner_text() == PASSAGE
