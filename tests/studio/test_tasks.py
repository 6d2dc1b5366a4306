"""A route returns the same object as the command of the same name with --json."""

import json
import math
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tagged import train_tagger, write_tagged

from elman.decoding.transforms import TRANSFORMS
from elman.studio.app import build
from elman.studio.limits import Limits
from elman.studio.served import Served, load_served
from elman.tasks.task import train

TEXT = "the cat sees a dog .\nthe bird zzz"


@pytest.mark.parametrize("model", ["words", "network", "letters"])
def test_surprisal(gives: Any, served: Served, model: str) -> None:
    data = gives("/v1/surprisal", model=model, text=TEXT)
    words = served.find(model).trained.surprisal(TEXT)
    answer = served.find(model).trained.ask("surprisal", text=TEXT)
    assert data == json.loads(json.dumps(answer.to_data()))
    assert [word["surprisal"] for word in data["words"]] == [word.surprisal for word in words]
    bits = gives("/v1/surprisal", model=model, text=TEXT, base=math.e)["words"][0]["surprisal"]
    assert bits == pytest.approx(words[0].surprisal * math.log(2))


def test_score(gives: Any, served: Served) -> None:
    data = gives("/v1/score", model="words", text=TEXT)
    assert data["perplexity"] == pytest.approx(served.find("words").trained.perplexity(TEXT))
    assert data["protocol"]["unit"] == "words"


def test_suggest(gives: Any, served: Served) -> None:
    data = gives("/v1/suggest", model="words", text="the ca", complete=True, top=2)
    found = served.find("words").trained.suggest("the ca", complete=True, top=2)
    assert data["suggestions"] == [vars(one) for one in found]
    assert data["suggestions"][0]["token"] == "cat"


def test_every_transform_is_listed_for_the_controls(client: TestClient) -> None:
    listed = client.get("/v1/transforms").json()["data"]
    assert [each["id"] for each in listed] == [*TRANSFORMS]
    for each in listed:
        transform = TRANSFORMS[each["id"]]
        assert each["option"] == transform.option
        assert each["about"] == transform.about
        for bound in (each["least"], each["most"]):  # a bound of a form is a number or just off it
            assert bound is None or transform.allows(bound) or transform.allows(bound + 1e-9)


def test_a_distribution_before_and_after(gives: Any) -> None:
    asked = {"model": "words", "prompt": "the", "top": 1000}
    plain = gives("/v1/distribution", **asked, allow_unknown=True)
    assert sum(token["before"] for token in plain["tokens"]) == pytest.approx(1)
    for token in plain["tokens"]:
        assert token["after"] == pytest.approx(token["before"])
    shaped = gives("/v1/distribution", **asked, temperature=0.5, top_k=2)
    assert shaped["after"]["possible"] == 2
    assert shaped["before"] == plain["before"]
    assert sum(token["after"] for token in shaped["tokens"]) == pytest.approx(1)
    first, second = shaped["tokens"][:2]
    ratio = (first["before"] / second["before"]) ** 2  # temperature 0.5 squares odds
    assert first["after"] / second["after"] == pytest.approx(ratio)
    assert shaped["after"]["entropy"] < 1


def test_embed(gives: Any, refuses: Any, served: Served) -> None:
    data = gives("/v1/embed", model="network", text="the cat\nsees")
    assert [line["words"] for line in data["lines"]] == [["the", "cat"], ["sees"]]
    assert len(data["lines"][0]["layers"][0][1]) == 6
    assert "ngram does not support embed" in refuses("/v1/embed", model="words", text="the")


def test_inspect(client: TestClient, gives: Any, refuses: Any) -> None:
    names = [view["id"] for view in client.get("/v1/inspect").json()["data"]]
    assert "gradient-flow" in names
    asked = {"model": "network", "text": "the cat sees a dog ."}
    data = gives("/v1/inspect", **asked, view="gradient-flow")
    assert data["tokens"] == 6
    assert {"data", "drawings", "summary"} < set(data["insights"]["gradient-flow"])
    seen = gives("/v1/inspect", **asked, view=["training", "attention"])
    assert seen["insights"]["training"]["drawings"]  # the run's own history
    assert list(seen["unseen"]) == ["attention"]
    assert "unknown insight 'gradients'" in refuses("/v1/inspect", **asked, view="gradients")
    assert "attention" in refuses("/v1/inspect", **asked, view="attention")


@pytest.mark.parametrize(
    ("path", "asked", "message"),
    [
        ("surprisal", {"text": "a", "base": 1}, "base"),
        ("surprisal", {"text": "a", "reset": "never"}, "reset"),
        ("surprisal", {"text": "the " * 5000}, "number of tokens is 5,000"),
        ("surprisal", {}, "text: field required"),
        ("suggest", {"text": "a", "top": 0}, "top"),
        ("suggest", {"text": "a", "top": 5000}, "top is 5,000"),
        ("distribution", {"prompt": [5, 10**6]}, "id 1000000"),
        ("translate", {"texts": ["a"]}, "no served model supports translate"),
        ("tag", {"text": "a"}, "no served model supports tag"),
    ],
)
def test_what_cannot_be_is_refused(refuses: Any, path: str, asked: Any, message: str) -> None:
    assert message in refuses(f"/v1/{path}", **asked)


def test_translate(tmp_path: Any, without_curves: None) -> None:
    settings = ["model.hidden_size=8", "model.embedding_size=8", "training.epochs=0.2"]
    corpus = "reverse:lines=400,longest=3,symbols=12"
    trained = train("reverse", data=corpus, out=tmp_path / "reversed", overrides=settings)
    served = load_served([str(tmp_path / "reversed")])
    texts = ["a b c", "", "never seen"]
    with TestClient(build(served), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/v1/models").json()["data"][0]["tasks"] == ["translate"]
        response = client.post("/v1/translate", json={"texts": texts})
        looking = client.post("/v1/translate", json={"texts": texts, "attention": True})
    expected = trained.translate(texts)
    assert [one["text"] for one in response.json()["translations"]] == expected
    assert response.headers["X-Elman-Model"] == "reversed"
    first, empty, _ = looking.json()["translations"]
    assert [first["text"], empty["text"]] == [expected[0], ""]
    assert first["attention"]["source"] == ["a", "b", "c", "<eos>"]
    for row in first["attention"]["weights"]:
        assert sum(row) == pytest.approx(1, abs=1e-4)
    assert empty["attention"]["weights"] == []


def test_tag(tmp_path: Any, without_curves: None) -> None:
    trained = train_tagger(write_tagged(tmp_path / "data"), tmp_path / "tagger")
    served = load_served([str(tmp_path / "tagger")])
    app = build(served, limits=Limits(texts=3))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        data = client.post("/v1/tag", json={"text": "Ann sees .\nBob hears in Ann"}).json()
        many = client.post("/v1/tag", json={"text": "a\n" * 9})
    words = [["Ann", "sees", "."], ["Bob", "hears", "in", "Ann"]]
    assert [sentence["words"] for sentence in data["sentences"]] == words
    assert [sentence["tags"] for sentence in data["sentences"]] == trained.tag(words)
    assert {span["text"] for span in data["sentences"][1]["spans"]} <= {"Bob", "Ann"}
    assert many.status_code == 400


@pytest.mark.parametrize("body", [b'{"text": "the"', b"[1]", b"text=the"])
def test_a_body_that_is_no_object_is_refused_clearly(client: TestClient, body: bytes) -> None:
    for headers in ({}, {"content-type": "application/json"}):
        response = client.post("/v1/suggest", content=body, headers=headers)
        assert response.status_code == 400
        message = response.json()["error"]["message"]
        assert re.match(
            "the body is not (valid JSON|a JSON object; send one, with Content)", message
        )
