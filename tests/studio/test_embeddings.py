"""/v1/embeddings in OpenAI's shape."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from live import running
from small_elmo import small_elmo

from elman.studio.app import build
from elman.studio.served import Served, load_served

PATH = "/v1/embeddings"


def vectors(data: dict[str, Any]) -> np.ndarray:
    return np.array([one["embedding"] for one in data["data"]])


def test_the_vector_of_a_text_is_the_mean_of_its_words(gives: Any) -> None:
    data = gives(PATH, model="network", input=["the cat sees", "a dog"])
    assert data["object"] == "list"
    assert data["model"] == "network"
    assert [(one["object"], one["index"]) for one in data["data"]] == [
        ("embedding", 0), ("embedding", 1)
    ]  # fmt: skip
    assert data["usage"] == {"prompt_tokens": 5, "total_tokens": 5}
    (line,) = gives("/v1/embed", model="network", text="the cat sees")["lines"]
    mean = np.array(line["layers"][0]).mean(0)
    np.testing.assert_allclose(vectors(data)[0], mean / np.linalg.norm(mean), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors(data), axis=1), 1, rtol=1e-6)


def test_every_form_of_input_and_encoding(gives: Any) -> None:
    text = vectors(gives(PATH, model="network", input="the cat"))
    ids = gives("/tokenize", model="network", prompt="the cat")["tokens"]
    for given in (["the cat"], ids, [ids]):
        assert np.array_equal(vectors(gives(PATH, model="network", input=given)), text)
    coded = gives(PATH, model="network", input="the cat", encoding_format="base64")
    raw = np.frombuffer(base64.b64decode(coded["data"][0]["embedding"]), "<f4")
    assert np.array_equal(raw, text[0].astype(np.float32))
    words = vectors(gives(PATH, model="network", input=["cat", "the cat"], layer="words"))
    assert not np.allclose(words[0], words[1])


def test_bad_requests_are_explained(gives: Any, refuses: Any) -> None:
    size = len(gives(PATH, model="network", input="the")["data"][0]["embedding"])
    gives(PATH, model="network", input="the", dimensions=size, user="me", encoding_format=None)
    assert f"have {size} numbers" in refuses(PATH, model="network", input="the", dimensions=2)
    assert "no words" in refuses(PATH, model="network", input=" \n")
    assert "at least one text" in refuses(PATH, model="network", input=[])
    assert "is too large; the vocabulary has" in refuses(PATH, model="network", input=[99999])
    assert "choose" in refuses(PATH, model="network", input="the", layer="all")
    assert "choose" in refuses(PATH, model="network", input="the", layer="7")
    assert "does not support embeddings" in refuses(PATH, model="words", input="the")


@pytest.fixture(scope="module")
def elmo(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder: Path = tmp_path_factory.mktemp("elmo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        small_elmo(folder)
    return load_served([str(folder / "elmo")])


def test_a_bidirectional_run_embeds(elmo: Served) -> None:
    with TestClient(build(elmo), base_url="http://127.0.0.1:8000") as client:
        (model,) = client.get("/v1/models").json()["data"]
        assert {"embed", "embeddings"} <= set(model["tasks"])
        for layer in ("mix", "0", "words"):
            asked = {"input": ["the cat sat", "the cat"], "layer": layer}
            response = client.post(PATH, json=asked)
            assert response.status_code == 200, response.text
            assert np.isfinite(vectors(response.json())).all()
        refused = client.post(PATH, json={"input": [1, 2]})
        assert "texts, not ids" in refused.json()["error"]["message"]


@pytest.fixture(scope="module")
def openai_client(served: Served) -> Iterator[Any]:
    openai = pytest.importorskip("openai", reason="needs openai: pip install openai")
    with (
        running(served) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


def test_the_openai_client_embeds(openai_client: Any) -> None:
    coded = openai_client.embeddings.create(model="network", input=["the cat", "a dog"])
    plain = openai_client.embeddings.create(
        model="network", input=["the cat", "a dog"], encoding_format="float"
    )
    assert len(coded.data) == 2
    np.testing.assert_allclose(coded.data[1].embedding, plain.data[1].embedding, rtol=1e-6)


def test_the_openai_client_is_told_that_there_is_no_chat(openai_client: Any) -> None:
    import openai

    message = {"role": "user", "content": "hello"}
    with pytest.raises(openai.NotFoundError, match="POST /v1/completions"):
        openai_client.chat.completions.create(model="network", messages=[message])
    with pytest.raises(openai.NotFoundError, match="POST /v1/completions"):
        openai_client.responses.create(model="network", input="hello")
