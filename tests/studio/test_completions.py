"""Completions in OpenAI's format: text, log probabilities, usage, refusals."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from elman.studio.served import Served

PATH = "/v1/completions"


def test_a_completion_has_the_shape_of_openai(gives: Any) -> None:
    data = gives(PATH, model="words", prompt="the cat", max_tokens=4, seed=1)
    assert data["object"] == "text_completion"
    assert data["model"] == "words"
    assert data["id"].startswith("cmpl-")
    assert data["usage"] == {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6}
    (choice,) = data["choices"]
    assert choice["index"] == 0
    assert choice["finish_reason"] == "length"
    assert choice["logprobs"] is None


@pytest.mark.parametrize("model", ["words", "network", "letters"])
def test_a_seed_says_what_elman_generate_says(gives: Any, served: Served, model: str) -> None:
    data = gives(PATH, model=model, prompt="the cat", max_tokens=12, seed=5, n=3)
    said = served.find(model).trained.generate("the cat", max_tokens=12, seed=5, samples=3)
    assert [choice["text"] for choice in data["choices"]] == [one.continuation for one in said]
    assert len({choice["text"] for choice in data["choices"]}) > 1


def test_without_a_seed_texts_differ_and_the_drawn_seed_brings_one_back(gives: Any) -> None:
    asked = {"model": "letters", "prompt": "the ", "max_tokens": 120}
    first, second = gives(PATH, **asked), gives(PATH, **asked)
    assert first["seed"] != second["seed"]
    assert first["choices"][0]["text"] != second["choices"][0]["text"]
    again = gives(PATH, **asked, seed=first["seed"])
    assert again["choices"][0]["text"] == first["choices"][0]["text"]


def test_several_prompts_as_texts_or_ids(gives: Any, served: Served) -> None:
    prompts = ["the cat", "a dog ."]
    tokenizer = served.find("words").trained.tokenizer
    ids = [tokenizer.encode(prompt).tolist() for prompt in prompts]
    texts = gives(PATH, model="words", prompt=prompts, n=2, seed=3, max_tokens=5)["choices"]
    assert [choice["index"] for choice in texts] == [0, 1, 2, 3]
    same = gives(PATH, model="words", prompt=ids, n=2, seed=3, max_tokens=5)["choices"]
    assert texts == same
    single = gives(PATH, model="words", prompt=ids[1], n=2, seed=3, max_tokens=5)["choices"]
    assert [choice["text"] for choice in single] == [choice["text"] for choice in texts[2:]]


def test_echo_without_tokens_scores_the_prompt(gives: Any, served: Served) -> None:
    text = "the cat sees a dog .\n"
    for model in ("words", "network", "letters"):
        data = gives(PATH, model=model, prompt=text, max_tokens=0, echo=True, logprobs=1)
        told = data["choices"][0]["logprobs"]
        words = served.find(model).trained.surprisal(text, base=2.718281828459045)
        assert -sum(told["token_logprobs"]) == pytest.approx(sum(w.surprisal for w in words))
        assert data["choices"][0]["text"] == text
        assert data["usage"]["completion_tokens"] == 0


def test_log_probabilities_are_the_models_own(gives: Any) -> None:
    asked = {"model": "network", "prompt": "the cat", "max_tokens": 3, "seed": 1, "logprobs": 4}
    choice = gives(PATH, **asked, temperature=0.2, echo=True)["choices"][0]
    text, told = choice["text"], choice["logprobs"]
    scored = gives(PATH, model="network", prompt=text, max_tokens=0, echo=True, logprobs=4)
    again = scored["choices"][0]["logprobs"]
    assert told["tokens"] == again["tokens"]
    assert told["token_logprobs"] == pytest.approx(again["token_logprobs"])
    for token, own, top in zip(
        told["tokens"], told["token_logprobs"], told["top_logprobs"], strict=True
    ):
        assert len(top) == 4
        assert top.get(token, own) == own
        assert max(top.values()) >= own


def test_offsets_say_where_a_token_begins(gives: Any) -> None:
    asked = {"model": "words", "prompt": "the cat", "max_tokens": 6, "seed": 2, "logprobs": 0}
    for echo in (True, False):
        choice = gives(PATH, **asked, echo=echo)["choices"][0]
        told = choice["logprobs"]
        ends = [*told["text_offset"][1:], len(choice["text"])]
        for token, begin, end in zip(told["tokens"], told["text_offset"], ends, strict=True):
            assert choice["text"][begin:end].strip() == token.replace("<eos>", "")


def test_a_stop_sequence_ends_a_text_and_is_left_out(gives: Any) -> None:
    data = gives(PATH, model="words", prompt="the", max_tokens=50, seed=1, stop=[".", "zebra"])
    choice = data["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert "." not in choice["text"]
    assert choice["text"]


def test_a_text_ends_with_its_line_only_where_asked(gives: Any) -> None:
    asked = {"model": "words", "prompt": "the cat", "max_tokens": 40, "seed": 4}
    assert "\n" in gives(PATH, **asked)["choices"][0]["text"].rstrip("\n")
    ended = gives(PATH, **asked, stop_at_line_end=True)["choices"][0]
    assert ended["text"].endswith("\n")
    assert ended["finish_reason"] == "stop"


def test_one_token_is_one_token_even_at_the_end_of_a_line(gives: Any) -> None:
    asked = {"model": "words", "prompt": "the cat sees a dog .", "max_tokens": 1, "temperature": 0}
    data = gives(PATH, **asked, logprobs=1, echo=True)
    assert data["choices"][0]["logprobs"]["tokens"][-1] == "<eos>"
    assert data["usage"]["completion_tokens"] == 1


def test_penalties_and_transforms_reach_the_decoder(gives: Any, served: Served) -> None:
    options = {"frequency_penalty": 2.0, "top_k": 3, "repetition_penalty": 1.5}
    data = gives(PATH, model="words", prompt="the", max_tokens=20, seed=2, **options)
    (said,) = served.find("words").trained.generate("the", max_tokens=20, seed=2, **options)
    (plain,) = served.find("words").trained.generate("the", max_tokens=20, seed=2)
    assert data["choices"][0]["text"] == said.continuation != plain.continuation


def test_unknown_words_come_only_where_allowed(gives: Any) -> None:
    asked = {"model": "network", "prompt": "", "max_tokens": 200, "seed": 1, "temperature": 5.0}
    assert "<unk>" not in gives(PATH, **asked)["choices"][0]["text"]
    assert "<unk>" in gives(PATH, **asked, allow_unknown=True)["choices"][0]["text"]


def events(client: TestClient, **asked: Any) -> list[str]:
    with client.stream("POST", PATH, json={**asked, "stream": True}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    return [line.removeprefix("data: ") for line in lines]


@pytest.mark.parametrize("model", ["words", "network", "letters"])
def test_a_stream_adds_up_to_the_whole(client: TestClient, gives: Any, model: str) -> None:
    asked: dict[str, Any] = {"model": model, "prompt": "the cat", "max_tokens": 30, "seed": 3}
    asked |= {"n": 2, "logprobs": 2, "stop": [" . "], "echo": True}
    whole = gives(PATH, **asked)
    *pieces, last = events(client, **asked, stream_options={"include_usage": True})
    assert last == "[DONE]"
    *pieces, usage = map(json.loads, pieces)
    assert usage["usage"] == whole["usage"]
    assert usage["choices"] == []
    for choice in whole["choices"]:
        own = [p["choices"][0] for p in pieces if p["choices"][0]["index"] == choice["index"]]
        assert len(own) > 1
        assert "".join(piece["text"] for piece in own) == choice["text"]
        assert [piece["finish_reason"] for piece in own[:-1]] == [None] * (len(own) - 1)
        assert own[-1]["finish_reason"] == choice["finish_reason"]
        for key, told in choice["logprobs"].items():
            assert [item for piece in own for item in piece["logprobs"][key]] == told


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"max_tokens": 5000}, "max_tokens is 5,000; the limit is 1,024"),
        ({"max_tokens": -2}, "max_tokens is -2"),
        ({"n": 17}, "n is 17"),
        ({"n": 0}, "n is 0"),
        ({"prompt": ["a"] * 30, "n": 3}, "prompts times n is 90"),
        ({"temperature": -1}, "temperature is -1"),
        ({"top_p": 0}, "top_p is 0"),
        ({"logprobs": 21}, "logprobs is 21"),
        ({"logprobs": -1}, "logprobs is -1"),
        ({"stop": ["a"] * 5}, "the number of stop sequences is 5"),
        ({"stop": [""]}, "an empty stop sequence"),
        ({"stop": "a" * 101}, "the length of a stop sequence is 101"),
        ({"prompt": [0, 99]}, "id 99 is too large"),
        ({"prompt": "a " * 5000}, "number of tokens is 5,000"),
        ({"prompt": "a" * 50_000}, "number of characters is 50,000"),
        ({"seed": 2**63}, "seed must be"),
        ({"suffix": "x"}, "suffix is not supported"),
        ({"best_of": 1, "n": 2}, "best_of is 1, below n; give 2 or more"),
        ({"best_of": 17}, "best_of is 17"),
        ({"best_of": 2, "stream": True}, "cannot be streamed"),
        ({"logit_bias": {"99": 1}}, "logit_bias: id 99 is not in the vocabulary"),
        ({"logit_bias": {"cat": 1}}, "'cat' is not the id of a token"),
        ({"logit_bias": {"1": 101}}, "logit_bias of 1 is 101.0; give a number from -100 to 100"),
        ({"logit_bias": {str(number): 1 for number in range(301)}}, "logit_bias is 301"),
        ({"top_k": -2}, "top_k is -2"),
        ({"temperatur": 1}, "temperatur: no such field"),
        ({"model": "words", "prompt": "the </s>"}, "is a marker"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(refuses: Any, asked: Any, message: str) -> None:
    said = refuses(PATH, **asked)
    assert message in said
    assert "\n" not in said


def test_a_bias_forces_or_forbids_tokens(gives: Any) -> None:
    asked = {"model": "words", "prompt": "the", "max_tokens": 20, "seed": 1}
    plain = gives(PATH, **asked)["choices"][0]["text"]
    (dog,) = gives("/tokenize", model="words", prompt="dog")["tokens"]
    always = gives(PATH, **asked, logit_bias={str(dog): 100})["choices"][0]["text"]
    assert set(always.split()) == {"dog"}
    assert "dog" in plain.split()
    never = gives(PATH, **asked, logit_bias={str(dog): -100})["choices"][0]["text"]
    assert "dog" not in never.split()
    assert gives(PATH, **asked, logit_bias={})["choices"][0]["text"] == plain


def test_best_of_gives_the_likeliest(gives: Any) -> None:
    asked = {"model": "network", "prompt": ["the", "a"], "max_tokens": 6, "seed": 1}
    drawn = gives(PATH, **asked, n=5, logprobs=0)["choices"]
    best = gives(PATH, **asked, n=2, best_of=5)
    assert [choice["index"] for choice in best["choices"]] == [0, 1, 2, 3]
    assert best["choices"][0]["logprobs"] is None  # nobody asked for them
    for prompt in (0, 1):
        ranked = sorted(
            drawn[5 * prompt : 5 * prompt + 5],
            key=lambda choice: -sum(choice["logprobs"]["token_logprobs"]),
        )
        texts = [choice["text"] for choice in best["choices"][2 * prompt : 2 * prompt + 2]]
        assert texts == [choice["text"] for choice in ranked[:2]]
    assert best["usage"]["completion_tokens"] == 60  # of all that were drawn


def test_defaults_as_clients_send_them(gives: Any) -> None:
    """Every field that OpenAI's, LangChain's and vLLM's clients send without being asked."""
    asked = {"model": "network", "prompt": "the", "seed": 3}
    plain = gives(PATH, **asked)
    assert plain["usage"]["completion_tokens"] == 16
    sent = {
        "max_tokens": None, "n": 1, "best_of": 1, "temperature": 1, "top_p": 1, "top_k": -1,
        "frequency_penalty": 0, "presence_penalty": 0, "repetition_penalty": 1, "logit_bias": None,
        "logprobs": None, "echo": False, "stop": None, "stream": False, "suffix": None,
        "user": "me", "min_p": 0, "stream_options": None,
    }  # fmt: skip
    assert gives(PATH, **asked, **sent)["choices"] == plain["choices"]
    assert gives(PATH, **asked, top_k=0, suffix="", stop=[])["choices"] == plain["choices"]
    assert (
        gives("/v1/distribution", model="network", prompt="the", top_k=-1)["after"]["possible"] > 3
    )
    most = gives(PATH, model="words", prompt="the", max_tokens=-1)
    assert most["usage"]["completion_tokens"] == 1024


def test_an_unknown_model_is_not_found(client: TestClient) -> None:
    response = client.post(PATH, json={"model": "gpt", "prompt": "a"})
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"
    assert "words, network, letters" in response.json()["error"]["message"]
