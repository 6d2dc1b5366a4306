"""Tokenizers over HTTP, as vLLM has them."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from elman.studio.served import Served

TEXT = "the cat sees\na dog"


@pytest.mark.parametrize("model", ["words", "letters"])
def test_there_and_back(gives: Any, served: Served, model: str) -> None:
    tokenizer = served.find(model).trained.tokenizer
    data = gives("/tokenize", model=model, prompt=TEXT, return_token_strs=True)
    assert data["tokens"] == tokenizer.encode(TEXT).tolist()
    assert data["count"] == len(data["tokens"])
    assert data["token_strs"] == [tokenizer.tokens[number] for number in data["tokens"]]
    assert data["max_model_len"] == 4096 + 1024
    assert gives("/detokenize", model=model, tokens=data["tokens"]) == {"prompt": TEXT}


def test_without_names_unless_asked(gives: Any) -> None:
    data = gives("/tokenize", prompt="the", add_special_tokens=False)
    assert data["token_strs"] is None


def test_what_a_client_must_know(client: TestClient, gives: Any) -> None:
    data = client.get("/tokenizer_info").json()
    assert data["tokenizer_class"] == "words"
    assert gives("/tokenize", prompt=data["eos_token"])["tokens"] == [data["eos_token_id"]]
    assert data["bos_token"] == data["eos_token"]
    assert client.get("/tokenizer_info?model=letters").json()["tokenizer_class"] == "characters"
    assert client.get("/tokenizer_info?model=nothing").status_code == 404


def test_what_cannot_be_is_refused(refuses: Any) -> None:
    assert "id 10000 is too large" in refuses("/detokenize", tokens=[0, 10_000])
    assert "tokens.0" in refuses("/detokenize", tokens=[-1])
    assert "number of characters" in refuses("/tokenize", prompt="a" * 50_000)
    assert "marker" in refuses("/tokenize", model="words", prompt="a <eos> b")
