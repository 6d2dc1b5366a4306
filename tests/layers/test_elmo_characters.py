"""ELMo's vectors from characters: its symbols, its padding, its filters."""

import pytest
import torch

from elman.errors import InputError
from elman.layers.elmo import PADDING, ElmoCharacters
from elman.text.spelling import spell


def encoder(**changes) -> ElmoCharacters:
    sizes = {"character_size": 3, "widths": (1, 2, 7), "filters": (2, 3, 4), "longest": 50}
    torch.manual_seed(1)
    return ElmoCharacters(**{**sizes, "highways": 2, "projection": 5, **changes})


def spelled(*words: str) -> torch.Tensor:
    symbols = torch.from_numpy(spell(words, 50)).long()
    return symbols[:, : int((symbols != 0).sum(1).max())]


def padded(symbols: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(symbols, (0, 50 - symbols.shape[1]), value=PADDING)


def test_symbols_are_the_published_ones() -> None:
    symbols = padded(encoder().translate(spelled("aé", "b"))).tolist()
    rest = [261] * 50
    assert symbols[0] == [259, ord("a") + 1, 0xC3 + 1, 0xA9 + 1, 260, *rest][:50]
    assert symbols[1] == [259, ord("b") + 1, 260, *rest][:50]
    assert symbols[2] == [259, 257, 260, *rest][:50]  # begin of sentence
    assert symbols[3] == [259, 258, 260, *rest][:50]  # end of sentence


@pytest.mark.parametrize("length", [47, 48, 49, 50, 60])
def test_a_long_word_is_cut_to_48_bytes(length: int) -> None:
    symbols = encoder().translate(spelled("x" * length))[0].tolist()
    seen = min(length, 48)
    assert symbols == [259, *[ord("x") + 1] * seen, 260, *[261] * (48 - seen)]


def test_all_fifty_symbols_count() -> None:
    """Vectors are those of the word with all of its padding, however little was computed."""
    characters = encoder()
    words = spelled("a", "reading", "antidisestablishmentarianism", "x" * 45)
    for count in (1, 2, 3, 4):
        some = words[:count]
        some = some[:, : int((some != 0).sum(1).max())]
        vectors = characters.vectors(padded(characters.translate(some)))
        features = torch.cat(
            [
                torch.stack([filters(vectors[:, i : i + w].flatten(1)) for i in range(51 - w)])
                .amax(0)
                .relu()
                for w, filters in zip(characters.widths, characters.filters, strict=True)
            ],
            dim=1,
        )
        for highway in characters.highways:
            gate = highway.gate(features).sigmoid()
            features = gate * highway.transform(features).relu() + (1 - gate) * features
        torch.testing.assert_close(characters(some), characters.project(features))


def test_a_word_does_not_depend_on_others() -> None:
    characters = encoder()
    alone = characters(spelled("word"))
    beside = characters(spelled("word", "incomprehensibilities"))
    torch.testing.assert_close(alone[0], beside[0])
    torch.testing.assert_close(alone[1:], beside[2:])  # the boundaries


def test_padding_is_learned_and_the_mask_is_not() -> None:
    characters = encoder()
    with torch.no_grad():
        for filters in characters.filters:
            filters.bias.fill_(1.0)
    characters(spelled("a")).sum().backward()
    slopes = characters.vectors.weight.grad
    assert slopes[PADDING].abs().sum() > 0
    assert slopes[0].abs().sum() == 0
    assert characters.vectors.weight[0].abs().sum() == 0


def test_at_first_highways_lead_around() -> None:
    for highway in encoder().highways:
        assert (highway.gate.bias == -2).all()
        assert (highway.transform.bias == 0).all()


def test_no_projection_to_the_same_size() -> None:
    characters = encoder(projection=9)
    assert isinstance(characters.project, torch.nn.Identity)
    assert characters(spelled("a", "b")).shape == (4, 9)


@pytest.mark.parametrize(
    "wrong", [{"widths": (1, 2)}, {"filters": (1, 0, 1)}, {"longest": 6}, {"widths": ()}]
)
def test_filters_that_cannot_be(wrong: dict) -> None:
    with pytest.raises(InputError):
        encoder(**wrong)
