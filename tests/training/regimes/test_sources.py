"""Every regime with targets that have a source."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from elman.batches import Batch, Pairs
from elman.layers.inputs import Material
from elman.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from elman.training.regimes import REGIMES, make_regime, minimum_risk
from elman.training.regimes.regime import begun

WORDS = 9
OPTIONS = {"scheduled-sampling": {"final": 0.0}, "free-running": {"beam": 3}}


def make_model(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(4)
    config = EncoderDecoderConfig(
        embedding_size=6, hidden_size=6, init="normal", init_scale=0.7, **settings
    )
    counts = torch.ones(WORDS, dtype=torch.int64)
    return EncoderDecoder(config, Material(counts, 0), counts)


def make_batch() -> Batch:
    drawn = np.random.default_rng(1)
    sources = [drawn.integers(1, WORDS, length) for length in (4, 1, 6)]
    targets = [drawn.integers(1, WORDS, length) for length in (5, 2, 3)]
    return Pairs(sources, targets, batch_size=3, eos_id=0).next()


@pytest.mark.parametrize(
    "settings",
    [{}, {"attention": "none"}, {"attend": "after", "input_feeding": True}, {"copy": True}],
    ids=str,
)
@pytest.mark.parametrize("name", REGIMES)
def test_every_regime_learns_and_listens_to_the_source(name: str, settings: Any, step: Any) -> None:
    model = make_model(**settings)
    batch = make_batch()
    if model.config.copy:
        batch = _with_places(batch)
    regime = make_regime(name, OPTIONS.get(name, {}), model)
    loss, gradients, _ = step(regime, model, batch)
    assert loss.tokens == int(batch.lengths.sum())
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)
    reached = dict(zip((n for n, _ in model.named_parameters()), gradients, strict=True))
    assert float(reached["source_input.weight"].abs().sum()) > 0
    turned = _turned(batch)
    regime = make_regime(name, OPTIONS.get(name, {}), model)
    other, _, _ = step(regime, model, turned)
    assert float(other.nats.detach()) != float(loss.nats.detach())


def _with_places(batch: Batch) -> Batch:
    assert batch.source is not None
    return replace(batch, source=replace(batch.source, places=batch.source.ids))


def _turned(batch: Batch) -> Batch:
    assert batch.source is not None
    return replace(batch, source=batch.source.rows(torch.tensor([1, 2, 0])))


def test_a_batch_begins_with_its_source() -> None:
    model, batch = make_model(), make_batch()
    found = begun(model, batch, None)
    expected = model.begin(3, batch.source)
    assert torch.equal(found[0][0][0], expected[0][0][0])
    assert begun(model, batch, expected) is expected


def test_whole_targets_are_drawn_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a window is given; of a target with a source, only its start."""
    model, batch = make_model(), make_batch()
    seen = []

    def judge(own: Any, own_lengths: Any, true: Any, true_lengths: Any) -> torch.Tensor:
        seen.append((true, true_lengths))
        return torch.linspace(0, 1, len(own))

    monkeypatch.setitem(minimum_risk.REWARDS, "gleu", judge)
    regime = make_regime("minimum-risk", {"samples": 2}, model)
    regime.risk(model, batch, model.begin(3, batch.source)).backward()
    (true, lengths), *_ = seen
    assert torch.equal(true[::2], batch.targets)
    assert torch.equal(lengths[::2], batch.lengths)


def test_better_translations_become_likelier() -> None:
    """The target is one word, and only the model's own word is judged."""
    model = make_model()
    batch = Pairs([np.array([3])] * 8, [np.array([5])] * 8, batch_size=8, eos_id=0).next()
    regime = make_regime("minimum-risk", {"samples": 8}, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def probability() -> float:
        with torch.no_grad():
            return float(model.score(batch.targets, model.start(8, batch.source))[0][0].sum().exp())

    before = probability()
    torch.manual_seed(0)
    for _ in range(40):
        optimizer.zero_grad()
        regime.risk(model, batch, model.begin(8, batch.source)).backward()
        optimizer.step()
    assert probability() > max(0.5, 2 * before)
