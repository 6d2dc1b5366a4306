"""Generated text: stop sequences, streaming, seeds, prompts, banned tokens."""

from pathlib import Path
from typing import Any

import pytest
import torch

import elman
from elman.errors import InputError
from elman.tasks.language_modelling.trained import TrainedModel

TEXT = """the cat sees the dog .
a bird hears the cat , and the dog hears it .
the naïve café in 東京 is “ open ” .
a dog likes a bird .
the café is 🐈 – open .
"""
OVERRIDES: dict[str, list[str]] = {
    "words": [],
    "raw-words": ["text.tokenizer=raw-words"],
    "characters": ["model.order=5"],
    "bytes": ["model.order=3"],
    "subwords": ["text.vocabulary_size=290", "model.order=3"],
    "unigram": ["text.tokenizer=unigram", "text.vocabulary_size=80", "model.order=3"],
}
RECIPES = {
    "characters": "ngram-characters",
    "bytes": "ngram-bytes",
    "subwords": "ngram-subwords",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TrainedModel]:
    path: Path = tmp_path_factory.mktemp("data") / "text.txt"
    path.write_text(TEXT * 20, encoding="utf-8")
    return {
        name: elman.train(RECIPES.get(name, "ngram"), data=str(path), overrides=overrides)
        for name, overrides in OVERRIDES.items()
    }


@pytest.fixture(params=OVERRIDES)
def model(request: pytest.FixtureRequest, models: dict[str, TrainedModel]) -> TrainedModel:
    return models[request.param]


@pytest.fixture
def words(models: dict[str, TrainedModel]) -> TrainedModel:
    return models["words"]


def one(model: TrainedModel, prompt: str, **options: Any) -> str:
    (found,) = model.generate(prompt, **options)
    return found.continuation


def test_a_continuation_follows_its_prompt(model: TrainedModel) -> None:
    (found,) = model.generate("the cat", max_tokens=12, seed=2)
    assert found.text == "the cat" + found.continuation
    assert len(found.tokens) == 12
    assert model.generate("the cat", max_tokens=12, seed=2) == [found]
    others = {one(model, "the cat", max_tokens=12, seed=seed) for seed in range(6)}
    assert len(others) > 1


def test_the_log_probability_is_the_model_s(words: TrainedModel) -> None:
    (found,) = words.generate("the cat", max_tokens=6, seed=1)
    prompt, whole = words.tokenizer.encode("the cat"), words.tokenizer.encode_typed(found.text)
    ids = whole.tolist()
    assert [words.tokenizer.tokens[number] for number in ids[len(prompt) :]] == found.tokens
    expected = words.model.log_probs(whole)[len(prompt) :].sum()
    assert found.log_prob == found.score == pytest.approx(expected)


def test_a_sample_does_not_depend_on_how_many_there_are(model: TrainedModel) -> None:
    five = model.generate("a", samples=5, max_tokens=15, seed=4)
    assert model.generate("a", samples=2, max_tokens=15, seed=4) == five[:2]
    assert model.generate("a", samples=1, max_tokens=15, seed=4) == five[:1]
    assert len({found.text for found in five}) > 1


@pytest.mark.parametrize("stop", [(), ("dog",), (" .", "ca"), ("\n",), ("é", "the c", "t")])
def test_a_stream_adds_up_to_the_whole(model: TrainedModel, stop: tuple[str, ...]) -> None:
    for seed in range(12):
        options: dict[str, Any] = {"stop": stop, "max_tokens": 25, "seed": seed}
        pieces = list(model.stream("the", **options))
        assert "".join(pieces) == one(model, "the", **options)
        assert all(pieces)


@pytest.mark.parametrize("stop", ["dog", ".", "the c", "é"])
def test_a_stop_sequence_never_shows(model: TrainedModel, stop: str) -> None:
    stopped = 0
    for seed in range(12):
        free = one(model, "a", max_tokens=30, seed=seed)
        cut = one(model, "a", max_tokens=30, seed=seed, stop=(stop,))
        assert cut == free.split(stop)[0]
        shown = ""
        for piece in model.stream("a", max_tokens=30, seed=seed, stop=(stop,)):
            shown += piece
            assert free.startswith(shown)
            assert stop not in shown
        stopped += stop in free
    assert stopped  # or nothing was tested


def test_of_several_stop_sequences_the_first_in_the_text_counts(model: TrainedModel) -> None:
    stops = ("e", "h", " o", "é")
    for seed in range(12):
        free = one(model, "a", max_tokens=30, seed=seed)
        places = [free.find(stop) for stop in stops if stop in free]
        expected = free[: min(places)] if places else free
        assert one(model, "a", max_tokens=30, seed=seed, stop=stops) == expected


def test_generating_ends_at_the_stop_sequence(models: dict[str, TrainedModel]) -> None:
    (found,) = models["characters"].generate("the ", max_tokens=200, seed=1, stop=("e",))
    assert found.tokens.count("e") == 1
    assert found.tokens[-1] == "e"
    assert "e" not in found.continuation


def test_what_could_become_a_stop_sequence_waits(models: dict[str, TrainedModel]) -> None:
    pieces = list(models["characters"].stream("a", max_tokens=40, seed=3, stop=("the zoo",)))
    text = "".join(pieces)
    for stop in range(1, len("the zoo")):
        begun = "the zoo"[:stop]
        shown = ""
        for piece in pieces[:-1]:
            shown += piece
            assert not shown.endswith(begun) or len(shown) == len(text)


@pytest.mark.parametrize("name", ["bytes", "subwords"])
def test_half_characters_wait_for_their_other_half(
    models: dict[str, TrainedModel], name: str
) -> None:
    model = models[name]
    unicode = 0
    for seed in range(20):
        options: dict[str, Any] = {"max_tokens": 60, "seed": seed, "top_p": 0.9}
        whole = one(model, "the ", **options)
        pieces = list(model.stream("the ", **options))
        assert "".join(pieces) == whole
        assert not any(piece.endswith("\ufffd") for piece in pieces[:-1])
        unicode += not whole.isascii()
    assert unicode > 3  # or nothing was tested


def test_reading_a_stream_leaves_the_reader_s_gradients_alone(words: TrainedModel) -> None:
    for _ in words.stream("the", max_tokens=3):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_wrong_options_of_a_stream_are_refused_at_once(words: TrainedModel) -> None:
    with pytest.raises(InputError, match="only one sample can be streamed"):
        words.stream("the", samples=2)
    with pytest.raises(InputError, match="only one sample can be streamed"):
        words.stream("the", beam=2)
    with pytest.raises(InputError, match="top_p"):
        words.stream("the", top_p=2.0)


def test_an_empty_stop_sequence_is_refused(words: TrainedModel) -> None:
    with pytest.raises(InputError, match="empty stop sequence"):
        words.generate("the", stop=("",))


def test_unknown_words_come_only_when_asked_for(words: TrainedModel) -> None:
    options: dict[str, Any] = {"samples": 40, "max_tokens": 50, "temperature": 3.0}
    assert all("<unk>" not in found.tokens for found in words.generate("zebra", **options))
    allowed = words.generate("zebra", allow_unknown=True, **options)
    assert any("<unk>" in found.tokens for found in allowed)


def test_banned_words_never_come_and_forced_ones_do(words: TrainedModel) -> None:
    banned = tuple(words.tokenizer.encode("the .").tolist())
    found = words.generate("a", samples=20, max_tokens=30, banned=banned)
    assert not any({"the", "."} & set(sample.tokens) for sample in found)
    assert any({"the", "."} & set(s.tokens) for s in words.generate("a", samples=20, max_tokens=30))
    forced = tuple(words.tokenizer.encode("bird likes").tolist())
    for sample in words.generate("a", samples=5, max_tokens=4, forced=forced):
        assert sample.tokens[:2] == ["bird", "likes"]
        assert sample.continuation.startswith(" bird likes")


def test_a_line_end_can_be_the_end(model: TrainedModel) -> None:
    for found in model.generate("the", samples=10, max_tokens=300, stop_at_line_end=True):
        assert found.continuation.endswith("\n")
        assert found.continuation.count("\n") == 1
        assert found.tokens[-1] == "<eos>"


def test_the_best_of_a_beam_come_first(model: TrainedModel) -> None:
    found = model.generate("the", beam=6, n_best=4, max_tokens=5)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert [each.log_prob for each in found] == pytest.approx(scores)
    assert len({tuple(each.tokens) for each in found}) == 4
    greedy = model.generate("the", greedy=True, max_tokens=5)[0]
    assert found[0].log_prob >= greedy.log_prob - 1e-9
    assert all("<unk>" not in each.tokens for each in found)


def test_a_beam_is_cut_at_stop_sequences_too(words: TrainedModel) -> None:
    found = words.generate("the", beam=6, n_best=4, max_tokens=8, stop=(".",))
    assert len({item.continuation for item in found}) == 4  # none goes on behind the stop
    for item in found:
        assert "." not in item.continuation
        assert item.tokens[:-1].count(".") == 0


@pytest.mark.parametrize("name", ["words", "raw-words", "subwords"])
def test_a_space_at_the_end_of_a_prompt_is_the_next_word_s(
    models: dict[str, TrainedModel], name: str
) -> None:
    bare, spaced = (models[name].generate(prompt, seed=5) for prompt in ("the cat", "the cat  "))
    assert bare == spaced
    assert bare[0].text.startswith("the cat ")


def test_a_letter_model_reads_the_space_of_a_prompt(models: dict[str, TrainedModel]) -> None:
    (found,) = models["characters"].generate("the ", max_tokens=3, greedy=True)
    assert found.text.startswith("the ")
    assert not found.continuation.startswith(" ")


def test_no_prompt_starts_a_line(model: TrainedModel) -> None:
    (found,) = model.generate("", max_tokens=8, seed=3)
    assert found.text == found.continuation
    if model.tokenizer.whole_words:
        assert not found.text.startswith(" ")
    assert model.generate(max_tokens=8, seed=3) == [found]


def test_a_prompt_may_end_in_a_line_end(words: TrainedModel) -> None:
    (found,) = words.generate("the cat\n", max_tokens=4, seed=3)
    assert found.text == "the cat\n" + found.continuation
    assert not found.continuation.startswith(" ")


def test_no_tokens_are_no_text(model: TrainedModel) -> None:
    (found,) = model.generate("the cat", max_tokens=0)
    assert (found.text, found.continuation, found.tokens) == ("the cat", "", [])
    assert found.log_prob == 0
    assert list(model.stream("the cat", max_tokens=0)) == []
    assert model.generate("the cat", max_tokens=0, beam=2)[0].tokens == []


def test_unknown_options_are_an_error(words: TrainedModel) -> None:
    with pytest.raises(TypeError):
        words.generate("the", temprature=2)
