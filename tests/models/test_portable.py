"""The portable models (`formats/portable`) give the probabilities of elman, for every model.

Models that it does not have are refused with the reason; the refusals are counted, so that no model
is left out silently.
"""

from typing import Any

import numpy as np
import pytest
import torch
from translators import one_source

from elman.errors import InputError
from elman.formats.portable_settings import to_portable
from elman.models import MODELS
from elman.models.contract import LanguageModel

EOS = 0
REFUSED = {
    "recurrent": (
        "looks back at recent words",
        "no matrix with a row per word",
        "with topics",
        "reads all layers",
    ),
    "ngram": ("gives no distribution after an unseen context",),
    "encoder-decoder": ("looks back at recent words",),
    "snm": ("not among the portable ones",),
    "syntactical": ("not among the portable ones",),
}


def ids() -> torch.Tensor:
    text = torch.randint(0, 9, (3, 11), generator=torch.Generator().manual_seed(4))
    text[0, 4] = text[1, 4] = text[2, 0] = EOS  # lines end within a row
    return text


class WithSource:
    """A portable encoder–decoder that reads like a language model; its source is always the same.

    After `<eos>` it starts again.
    """

    def __init__(self, network: Any, model: Any) -> None:
        self.network = network
        self.source = one_source(model.config)
        self.places = model._places(self.source) if model.config.copy else None

    def begin(self, rows: int) -> Any:
        every = torch.zeros(rows, dtype=torch.long)
        source = self.source.rows(every)
        given = source.vectors if source.ids is None else source.ids
        self.real = torch.arange(given.shape[1]) < source.lengths[:, None]
        self.copied = None if self.places is None else self.places[every]
        self.memory, self.first = self.network.encode(given, source.lengths)
        return self.first

    def read(self, ids: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        found = []
        for now in ids.unbind(1):
            ended = (now == EOS)[:, None]
            state = {name: torch.where(ended, self.first[name], state[name]) for name in state}
            log_probs, state, _ = self.network.step(now, state, self.memory, self.real, self.copied)
            found.append(log_probs)
        return torch.stack(found, dim=1), state

    def scores(self, log_probs: torch.Tensor) -> torch.Tensor:
        return log_probs


def made(model: LanguageModel) -> tuple[Any, str]:
    """The portable model, or the reason why there is none."""
    try:
        network = to_portable(model)
        return (WithSource(network, model) if hasattr(network, "encode") else network), ""
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
    if refused or isinstance(portable, WithSource):
        pytest.skip("has no portable form, or no padding before a text")
    text = torch.cat([torch.full((3, 1), EOS), ids()], dim=1)
    padded = torch.cat([torch.full((3, 4), 5), text], dim=1)
    real = torch.ones_like(padded, dtype=torch.bool)
    real[:, :4] = False
    with torch.no_grad():
        alone, _ = portable.read(text, portable.begin(3))
        beside, _ = portable.read(padded, portable.begin(3), real)
        expected, found = portable.scores(alone), portable.scores(beside)[:, 4:]
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


class OverTime(torch.nn.Module):
    """Log probabilities of every next token of rows."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.network.read(ids, self.network.begin(ids.shape[0]))
        return self.network.scores(hidden).log_softmax(-1)


@pytest.mark.parametrize("settings", [{}, {"cell": "gru", "context": "line", "num_layers": 2}])
def test_torch_exports_any_batch_and_time(settings: dict[str, Any]) -> None:
    torch.manual_seed(1)
    cls = MODELS.choose("recurrent")
    config = cls.config_class(embedding_size=6, hidden_size=6, **settings)
    words = [str(number) for number in range(9)]
    text = np.random.default_rng(5).integers(0, 9, 100)
    model = OverTime(to_portable(cls.build(config, text, words, EOS).eval()))
    sizes = ({0: torch.export.Dim("N"), 1: torch.export.Dim("T")},)
    with torch.no_grad():
        program = torch.export.export(model, (ids()[:2, :5].clone(),), dynamic_shapes=sizes)
        for rows in (ids(), ids()[:1, :1].clone(), ids().repeat(4, 9)):
            torch.testing.assert_close(program.module()(rows), model(rows))
