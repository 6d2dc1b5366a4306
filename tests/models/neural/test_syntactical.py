"""What the syntactical network sees: the last words, their heads, and nothing that comes later."""

import pytest
import torch

from elman.errors import InputError
from elman.models.syntactical import Syntactical, SyntacticalConfig

TOKENS = ["<eos>", "the", "dog", "saw", "a", "cat", "←0", "←1", "←2", "←3"]
EOS = 0


def make(**settings: object) -> Syntactical:
    config = SyntacticalConfig(**{"embedding_size": 4, "hidden_size": 5, "reach": 20, **settings})
    return Syntactical.build(config, torch.arange(10).numpy(), TOKENS, EOS).eval()


def seen(model: Syntactical, text: str) -> list[str]:
    """The tokens that the network sees after a text: words, heads, the last token."""
    ids = [TOKENS.index(token) for token in text.split()]
    window = torch.tensor([EOS] * model.config.reach + ids)[None, None, -model.config.reach :]
    places = model.find_places(window)[0, 0].tolist()
    return ["–" if place < 0 else TOKENS[window[0, 0, place]] for place in places]


def test_words_their_heads_and_the_last_token() -> None:
    model = make(order=3, heads=2, ancestors=2)
    text = "the ←0 dog ←0 saw ←0 a ←0 cat"
    assert seen(model, text) == ["cat", "a", *"––––", "cat"]  # its arrow is not read yet
    assert seen(model, f"{text} ←2") == ["cat", "a", "saw", *"–––", "←2"]
    # The head of "the" is "cat", whose head is "saw"; that of "cat" is read already.
    assert seen(model, f"{text} ←2 the ←1") == ["the", "cat", "cat", "saw", "saw", "–", "←1"]


def test_without_heads_it_is_a_window_of_words() -> None:
    assert seen(make(order=4, heads=0), "the ←0 dog ←0 saw ←1") == ["saw", "dog", "the", "←1"]


@pytest.mark.parametrize("text", ["the ←3", "the ←0 <eos> dog ←1", "←2 the ←1", "dog ←0 the ←2"])
def test_heads_that_are_not_in_the_line_are_unknown(text: str) -> None:
    assert seen(make(order=2, heads=1, ancestors=1), text)[1] == "–"


def test_a_head_beyond_the_reach_is_unknown() -> None:
    text = "saw ←0 a ←0 a ←0 cat ←3"
    assert seen(make(order=2, heads=1, ancestors=1, reach=8), text)[1] == "saw"
    assert seen(make(order=2, heads=1, ancestors=1, reach=6), text)[1] == "–"


def test_an_arrow_changes_what_is_predicted_after_it_only() -> None:
    torch.manual_seed(0)
    model = make(order=3, init="normal", init_scale=1.0).double()
    ids = torch.tensor([[3, 6, 4, 6, 5, 8, 1, 6]])  # saw ←0 a ←0 cat ←2 the ←0
    other = ids.clone()
    other[0, 5] = TOKENS.index("←1")
    with torch.no_grad():
        before, after = (model.predict_all(one, model.start(1))[0][0] for one in (ids, other))
    assert torch.equal(before[:6], after[:6])
    assert not torch.allclose(before[6], after[6])
    assert not torch.allclose(before[7], after[7])  # the last arrow is the same, the heads are not


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 4, "order": 4}, "heads=4: the model sees order - 1 = 3 words"),
        ({"heads": -1}, "heads"),
        ({"ancestors": 0}, "ancestors"),
        ({"reach": 9, "order": 5}, "reach=9: must be at least 10"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SyntacticalConfig(**settings)
