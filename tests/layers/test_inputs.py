"""Input layers: vectors from a table or from characters, independent for each word."""

import numpy as np
import pytest
import torch

from elman.errors import InputError
from elman.layers.inputs import INPUTS, CharacterFilters, Highway, Material, expected_distinct
from elman.text.spelling import spell

TOKENS = ["a", "cat", "cats", "<eos>", "naïve", "extraordinarily"]
COUNTS = torch.tensor([5, 3, 2, 8, 1, 1])
MATERIAL = Material(COUNTS, 3, TOKENS)
SMALL = {"widths": (1, 3), "filters": (2, 4), "character_size": 3, "longest": 10}


def characters(material: Material = MATERIAL, **options) -> CharacterFilters:
    torch.manual_seed(0)
    made = CharacterFilters(material, embedding_size=0, dropout_words=0.0, **{**SMALL, **options})
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made.double()


def test_spelling_is_begin_bytes_end_and_nothing() -> None:
    assert spell(["ab", "é"], 4).tolist() == [
        [257, 98, 99, 258, 0, 0],
        [257, 0xC3 + 1, 0xA9 + 1, 258, 0, 0],
    ]
    assert spell(["abcdef"], 3).tolist() == [[257, 98, 99, 100, 258]]  # as much as is seen


def test_the_formula_of_a_filter() -> None:
    """By hand: every place in the word, the best one counts, then highways."""
    made = characters(highways=1)
    for number, token in enumerate(TOKENS):
        written = [257, *(byte + 1 for byte in token.encode()[:10]), 258]
        vectors = made.vectors[torch.tensor(written)]
        found = []
        for width, filters in zip((1, 3), made.filters, strict=True):
            places = range(len(written) - width + 1)
            windows = torch.stack([vectors[at : at + width].flatten() for at in places])
            found.append(torch.tanh(filters(windows)).amax(0))
        features = torch.cat(found)
        highway = made.highways[0]
        gate = torch.sigmoid(highway.gate(features))
        led = gate * torch.relu(highway.transform(features)) + (1 - gate) * features
        assert torch.allclose(made(torch.tensor([[number]]))[0, 0], led, rtol=0, atol=1e-12)


def test_a_word_does_not_depend_on_its_company() -> None:
    """Short ones beside long ones, once or more than once."""
    made = characters(widths=(1, 9), filters=(2, 3), highways=2)
    ids = torch.tensor([[0, 1, 2, 3, 4, 5], [5, 5, 0, 0, 1, 1]])
    together = made(ids)
    for row in range(2):
        for column in range(6):
            alone = made(ids[row : row + 1, column : column + 1])[0, 0]
            assert torch.allclose(together[row, column], alone, rtol=0, atol=1e-12)
    assert not torch.allclose(together[0, 1], together[0, 2])


def test_each_distinct_word_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, seen = characters(), []
    whole = CharacterFilters.spell_out
    monkeypatch.setattr(
        CharacterFilters, "spell_out", lambda self, s: seen.append(len(s)) or whole(self, s)
    )
    made(torch.tensor([[0, 1, 0, 1, 0, 2], [0, 0, 0, 0, 0, 0]]))
    assert seen == [3]


def test_a_highway_begins_by_leading_around() -> None:
    torch.manual_seed(0)
    values = torch.randn(50, 6)
    changed = Highway(6)(values) - values
    assert changed.abs().mean() < 0.2
    assert changed.abs().max() > 0


@pytest.mark.parametrize("kind", INPUTS)
def test_dropped_words_are_dropped_everywhere(kind: str) -> None:
    torch.manual_seed(0)
    made = INPUTS[kind](MATERIAL, embedding_size=8, dropout_words=0.5)
    ids = torch.arange(6).repeat(3, 40)
    vectors = made(ids)
    assert vectors.shape == (3, 240, made.size)
    assert torch.equal(vectors, vectors[0, :6].repeat(40, 1).expand_as(vectors))
    dropped = vectors[0, :6].eq(0).all(1)
    assert 0 < dropped.sum() < 6
    assert not made.eval()(ids).eq(0).all(2).any()


@pytest.mark.parametrize(
    "options",
    [{"widths": (1, 2), "filters": (3,)}, {"widths": (), "filters": ()}, {"widths": (0, 2)}],
)
def test_filters_that_cannot_be_are_refused(options: dict) -> None:
    with pytest.raises(InputError, match="as many of each"):
        characters(**options)


def test_how_many_words_are_distinct() -> None:
    random = np.random.default_rng(0)
    share = (COUNTS / COUNTS.sum()).double().numpy()
    drawn = [len(set(random.choice(6, 7, p=share / share.sum()))) for _ in range(4000)]
    assert expected_distinct(COUNTS, 7) == pytest.approx(np.mean(drawn), rel=0.02)
    assert expected_distinct(COUNTS, 1) == pytest.approx(1)
