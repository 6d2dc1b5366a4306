"""The portable model (`formats/portable.py`) gives the probabilities of elman, for every model.

Models that it does not have are refused with the reason; the refusals are counted, so that no model
is left out silently.
"""

from typing import Any

import pytest
import torch

from elman.errors import InputError
from elman.formats.portable_settings import to_portable
from elman.models.contract import LanguageModel

EOS = 0
REFUSED = {
    "recurrent": ("looks back at recent words", "no matrix with a row per word", "with topics"),
    "ngram": ("gives no distribution after an unseen context",),
    "encoder-decoder": ("not a recurrent, feed-forward",),
}


def ids() -> torch.Tensor:
    text = torch.randint(0, 9, (3, 11), generator=torch.Generator().manual_seed(4))
    text[0, 4] = text[1, 4] = text[2, 0] = EOS  # lines end within a row
    return text


def made(model: LanguageModel) -> tuple[Any, str]:
    """The portable model, or the reason why there is none."""
    try:
        return to_portable(model), ""
    except InputError as refused:
        return None, str(refused)


def test_it_gives_the_same_log_probabilities(
    trained_model: LanguageModel, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["trained_model"]
    text = ids()
    portable, refused = made(trained_model)
    if refused:
        reasons = [why for kind, whys in REFUSED.items() if name.startswith(kind) for why in whys]
        assert any(why in refused for why in reasons), (name, refused)
        return
    with torch.no_grad():
        expected, _ = trained_model.predict_all(text, trained_model.start(3))
        read = torch.cat([torch.full((3, 1), EOS), text], dim=1)
        hidden, state = portable.read(read[:, :5], portable.begin(3))
        found = [portable.scores(hidden)]
        for t in range(5, read.shape[1] - 1):  # whole texts and single steps agree
            hidden, state = portable.read(read[:, t : t + 1], state)
            found.append(portable.scores(hidden))
    log_probs = torch.cat(found, dim=1).log_softmax(-1)
    torch.testing.assert_close(log_probs, expected.float(), atol=1e-5, rtol=1e-5)


def test_padding_before_a_text_changes_nothing(trained_model: LanguageModel) -> None:
    portable, refused = made(trained_model)
    if refused:
        pytest.skip("has no portable form")
    text = torch.cat([torch.full((3, 1), EOS), ids()], dim=1)
    padded = torch.cat([torch.full((3, 4), 5), text], dim=1)
    real = torch.ones_like(padded, dtype=torch.bool)
    real[:, :4] = False
    with torch.no_grad():
        alone, _ = portable.read(text, portable.begin(3))
        beside, _ = portable.read(padded, portable.begin(3), real)
        expected, found = portable.scores(alone), portable.scores(beside)[:, 4:]
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
