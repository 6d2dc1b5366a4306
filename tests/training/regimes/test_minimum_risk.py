"""Minimum risk: overlap by hand; better continuations become more probable."""

from __future__ import annotations

from typing import Any

import pytest
import sacrebleu
import torch

from elman.batches import Batch
from elman.training.regimes import make_regime, minimum_risk
from elman.training.regimes.minimum_risk import bleu, continuations, gleu


@pytest.mark.parametrize(
    ("own", "true", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),  # 4 + 3 + 2 + 1 of 10
        ([5, 6, 7, 8], [1, 2, 3, 4], 0.0),
        ([1, 2, 3, 9], [1, 2, 3, 4], 6 / 10),  # 3 words, 2 pairs, 1 triple
        ([1, 1, 1, 1], [1, 2, 1, 3], 2 / 10),  # clipped: 1 stands there twice, 1 1 never
        ([1, 2], [1, 2, 3], 3 / 6),  # 2 words and a pair; the longer has 3 + 2 + 1
        ([1, 2, 3], [1, 2], 3 / 6),
        ([4], [4], 1.0),
        ([], [], 0.0),
    ],
)
def test_overlap_by_hand(own: list[int], true: list[int], expected: float) -> None:
    """Tokens beyond the lengths have no effect."""
    for padding in (0, 1, 4):
        rows = [torch.tensor([[*ids, *[padding] * (5 - len(ids))]]) for ids in (own, true)]
        lengths = [torch.tensor([len(ids)]) for ids in (own, true)]
        found = gleu(rows[0], lengths[0], rows[1], lengths[1])
        assert found.tolist() == pytest.approx([expected])


def test_bleu_is_that_of_sacrebleu() -> None:
    """Rows of any length, some of which share nothing."""
    torch.manual_seed(3)
    own, true = torch.randint(5, (40, 9)), torch.randint(5, (40, 7))
    own_lengths, true_lengths = torch.randint(1, 10, (40,)), torch.randint(1, 8, (40,))
    metric = sacrebleu.BLEU(
        smooth_method="add-k", smooth_value=1, tokenize="none", effective_order=True
    )

    def text(ids: torch.Tensor, length: torch.Tensor) -> str:
        return " ".join(map(str, ids[: int(length)].tolist()))

    expected = [
        metric.sentence_score(text(a, n), [text(b, m)]).score / 100
        for a, n, b, m in zip(own, own_lengths, true, true_lengths, strict=True)
    ]
    assert min(expected) == 0.0
    assert max(expected) > 0.3
    found = bleu(own, own_lengths, true, true_lengths)
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_the_usual_loss_is_untouched(model: Any, batch: Any, step: Any) -> None:
    plain = step(make_regime("teacher-forcing", {}, model), model, batch)
    for options in ({}, {"baseline": "greedy", "samples": 1}):
        loss, gradients, _ = step(make_regime("minimum-risk", options, model), model, batch)
        assert torch.equal(loss.nats, plain[0].nats)
        assert any(not torch.equal(a, b) for a, b in zip(gradients, plain[1], strict=True))
    loss, gradients, _ = step(make_regime("minimum-risk", {"weight": 0.0}, model), model, batch)
    assert all(map(torch.equal, gradients, plain[1]))
    assert model.training


@pytest.mark.parametrize("baseline", ["mean", "greedy"])
def test_better_continuations_become_likelier(
    make_model: Any, make_batch: Any, context: str, baseline: str
) -> None:
    """Trained on the risk alone, samples get closer to the true continuation."""
    model, batch = make_model(context).eval(), make_batch(context)
    lengths = torch.tensor([5, 5, 5, 5] if batch.lengths is None else [5, 4, 2, 0])
    regime = make_regime("minimum-risk", {"samples": 8, "baseline": baseline}, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    def reached() -> torch.Tensor:
        torch.manual_seed(0)
        copies = torch.arange(4).repeat(50)
        _, state = model.advance(batch.inputs[copies, :4], model.begin(200))
        own = continuations(model, state, 5)
        return gleu(own, lengths[copies], batch.targets[copies, 3:], lengths[copies]).mean()

    before = reached()
    torch.manual_seed(0)
    for _ in range(30):
        optimizer.zero_grad()
        regime.risk(model, batch, model.begin(4)).backward()
        optimizer.step()
    assert reached() > 1.5 * before


def test_the_gradient_points_to_the_better_word(make_model: Any) -> None:
    """The target is one word, and only the true word scores: its probability must rise."""
    model = make_model().eval()
    batch = Batch(torch.tensor([[2, 3]]), torch.tensor([[3, 5]]))
    regime = make_regime("minimum-risk", {"samples": 200, "seen": 1.0}, model)
    torch.manual_seed(0)
    regime.risk(model, batch, model.begin(1)).backward()
    slopes = model.output.bias.grad
    assert slopes.argmin() == 5
    assert slopes[5] < 0 < slopes[[w for w in range(9) if w != 5]].min()


def test_rows_without_anything_left_to_say_do_not_count(
    make_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model("line").eval()
    with torch.no_grad():
        model.output.bias[2] = 20.0  # the likeliest word, and never a true one
    monkeypatch.setattr(minimum_risk, "draw", lambda log_probs: torch.full((len(log_probs),), 5))
    regime = make_regime("minimum-risk", {"baseline": "greedy"}, model)
    inputs, targets = torch.tensor([[1, 3, 4, 8, 6, 7]]), torch.tensor([[3, 4, 8, 6, 5, 1]])
    alone = Batch(inputs, targets, torch.tensor([6]))
    beside = Batch(inputs.repeat(2, 1), targets.repeat(2, 1), torch.tensor([6, 2]))
    risks = [regime.risk(model, b, model.begin(len(b.inputs))).detach() for b in (alone, beside)]
    assert risks[0] != 0
    torch.testing.assert_close(*risks)
