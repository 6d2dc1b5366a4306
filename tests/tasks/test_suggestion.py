"""Suggestions: probabilities compared with the chain rule."""

import math
from itertools import product
from pathlib import Path

import pytest

import elman
from elman.errors import InputError
from elman.tasks.language_modelling.counting import import_arpa
from elman.tasks.language_modelling.generation import read_prompt
from elman.tasks.language_modelling.trained import TrainedModel

TEXT = """the cat sees the dog .
the cart , the card and the cat .
a dog likes a bird .
the café is open (a café) .
"""
LETTERS = "ab a\nb ab a\nab ab\na b\n"  # two letters, so that every word can be tried


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    (place / "text.txt").write_text(TEXT * 20, encoding="utf-8")
    (place / "letters.txt").write_text(LETTERS * 20)
    return place


@pytest.fixture(scope="module")
def words(place: Path) -> TrainedModel:
    overrides = ["text.tokenizer=words"]
    return elman.train("ngram", data=str(place / "text.txt"), overrides=overrides)


@pytest.fixture(scope="module")
def letters(place: Path) -> TrainedModel:
    overrides = ["model.order=3", "model.smoothing=witten-bell"]
    return elman.train("ngram-characters", data=str(place / "letters.txt"), overrides=overrides)


@pytest.fixture(
    scope="module",
    params=["words", "raw-words", "ngram-characters", "ngram-bytes", "ngram-subwords"],
)
def model(request: pytest.FixtureRequest, place: Path) -> TrainedModel:
    if request.param.startswith("ngram"):
        return elman.train(request.param, data=str(place / "text.txt"))
    overrides = [f"text.tokenizer={request.param}"]
    return elman.train("ngram", data=str(place / "text.txt"), overrides=overrides)


def distribution(model: TrainedModel, text: str) -> dict[str, float]:
    """Every token with its probability after a text."""
    state = read_prompt(model, model.tokenizer.encode(text))
    probs = model.model.predict(state)[0].exp().tolist()
    return dict(zip(model.tokenizer.tokens, probs, strict=True))


def chain_rule(model: TrainedModel, text: str, word: str, space: str) -> float:
    """p(word and then a space or line end), letter by letter."""
    before = len(model.tokenizer.encode(text))
    total = 0.0
    for end in (" ", "\n"):
        ids = model.tokenizer.encode(text + space + word + end)
        total += math.exp(model.model.log_probs(ids)[before:].sum())
    return total


def test_words_have_the_model_s_probabilities(words: TrainedModel) -> None:
    expected = distribution(words, "the")
    found = words.suggest("the", top=6)
    assert {s.token: s.probability for s in found} == pytest.approx(
        {s.token: expected[s.token] for s in found}
    )
    for marker in ("<eos>", "<unk>"):
        expected.pop(marker)
    assert [s.probability for s in found] == pytest.approx(
        sorted(expected.values(), reverse=True)[:6]
    )
    assert found[0].token == "cat"


def test_probabilities_of_an_arpa_file_stay_as_they_are(tmp_path: Path) -> None:
    """The file's probabilities sum to 0.9; suggestions are those of surprisal all the same."""
    lines = ["\\data\\", "ngram 1=4", "", "\\1-grams:"]
    lines += ["-99\t<s>", "-0.69897\t</s>", "-0.69897\t<unk>", "-0.30103\tdog", "", "\\end\\", ""]
    (tmp_path / "short.arpa").write_text("\n".join(lines))
    model = import_arpa(tmp_path / "short.arpa")
    (first,) = model.suggest("", top=1)
    assert first.token == "dog"
    assert first.probability == pytest.approx(0.5, abs=1e-5)
    assert model.surprisal("dog")[0].surprisal == pytest.approx(1.0, abs=1e-4)


def test_a_mark_is_one_suggestion_with_a_space_before_it_or_without(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a cat sees .\na cat sees.\na cat sees a cat.\n" * 20)
    overrides = ["text.tokenizer=raw-words"]
    model = elman.train("ngram", data=str(path), overrides=overrides)
    expected = distribution(model, "a cat sees")
    found = {s.token: s.probability for s in model.suggest("a cat sees", top=100)}
    assert set(found) == {"a", "cat", "sees", "."}
    assert found["."] == pytest.approx(expected[" ."] + expected["."])
    assert found["a"] == pytest.approx(expected[" a"])


def test_a_spelled_word_has_the_probability_of_its_letters_and_its_end(
    letters: TrainedModel,
) -> None:
    for text, space in [("ab a", " "), ("a b\n", ""), ("", "")]:
        all_words = [
            "".join(spelled) for length in range(1, 7) for spelled in product("ab", repeat=length)
        ]
        expected = {word: chain_rule(letters, text, word, space) for word in all_words}
        best = sorted(expected.items(), key=lambda item: -item[1])[:4]
        found = letters.suggest(text, top=4)
        assert [s.token for s in found] == [word for word, _ in best]
        assert [s.probability for s in found] == pytest.approx([p for _, p in best], rel=1e-9)


def test_a_spelled_word_is_completed_with_the_same_probability(letters: TrainedModel) -> None:
    found = letters.suggest("ab a", top=3, complete=True)
    assert all(s.token.startswith("a") and s.token != "a" for s in found)
    for suggestion in found:
        expected = chain_rule(letters, "ab", suggestion.token, " ")
        assert suggestion.probability == pytest.approx(expected)


def test_the_likeliest_comes_first_and_no_more_than_asked(model: TrainedModel) -> None:
    found = model.suggest("the cat sees the", top=3)
    assert len(found) == 3
    probabilities = [s.probability for s in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0 < sum(probabilities) <= 1 + 1e-9
    assert found[0].token == "dog"
    assert model.suggest("the cat sees the", top=1) == found[:1]


def test_endings_of_the_last_word(model: TrainedModel) -> None:
    found = model.suggest("the ca", complete=True, top=8)
    assert {s.token for s in found} >= {"cat", "cart", "card", "café"}
    assert all(s.token.startswith("ca") for s in found)
    (best, *_) = model.suggest("the caf", complete=True)
    assert best.token == "café"


def test_a_word_that_is_complete_already_is_not_its_own_ending(model: TrainedModel) -> None:
    tokens = [s.token for s in model.suggest("a dog", complete=True)]
    assert "dog" not in tokens
    assert all(token.startswith("dog") for token in tokens)


@pytest.mark.parametrize("recipe", ["ngram-characters", "ngram-bytes", "ngram-subwords"])
def test_a_begun_word_may_have_letters_of_several_bytes(recipe: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("the naïveté of 東京都 .\na naïf cafés .\n" * 30, encoding="utf-8")
    model = elman.train(recipe, data=str(path))
    assert model.suggest("the naï", complete=True, top=1)[0].token == "naïveté"
    assert model.suggest("of 東", complete=True, top=1)[0].token == "東京都"
    assert model.suggest("a naïf café", complete=True, top=1)[0].token == "cafés"
    assert not any("\ufffd" in s.token for s in model.suggest("the naï", complete=True, top=20))


def test_after_a_space_any_word_may_come(model: TrainedModel) -> None:
    assert model.suggest("the ", complete=True) == model.suggest("the ")
    assert model.suggest("the ") == model.suggest("the")


def test_at_the_start_of_a_line(model: TrainedModel) -> None:
    found = model.suggest("")
    assert {s.token for s in found[:2]} == {"the", "a"}
    assert model.suggest("a dog likes a bird .\n")[0].token == "the"
    assert model.suggest("t", complete=True)[0].token == "the"


def test_no_ending_is_no_suggestion(words: TrainedModel) -> None:
    assert words.suggest("the xyz", complete=True) == []


def test_at_least_one_suggestion_is_asked_for(words: TrainedModel) -> None:
    with pytest.raises(InputError, match="top=0"):
        words.suggest("the", top=0)
    assert len(words.suggest("the", top=1000)) == len(words.tokenizer) - 2
