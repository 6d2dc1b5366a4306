"""Outputs that learn together with n-grams: their formulas, in training and in evaluation."""

import numpy as np
import pytest
import torch
from torch.nn.functional import linear, logsigmoid

from elman.counts.estimate import NgramConfig
from elman.errors import InputError
from elman.layers.outputs import OUTPUTS
from elman.layers.outputs.ngram import NgramOutput
from elman.models import MODELS
from elman.models.ngram import NGram

V, SIZE, EOS, ORDER = 12, 5, 0, 3
TEXT = np.random.default_rng(7).choice(V - 1, 500, p=np.arange(V - 1, 0, -1) / 66)
COUNTS = torch.from_numpy(np.bincount(TEXT, minlength=V))
KINDS = ["ngram-residual", "ngram-mixture"]


def make(kind: str, **options) -> NgramOutput:
    layer = OUTPUTS[kind](SIZE, COUNTS, embedding_size=SIZE, tied=False, order=ORDER, **options)
    layer.count_text(TEXT, EOS)
    torch.manual_seed(2)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    return layer.double()


def evidence_of(layer: NgramOutput) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """What comes before each word of the text but the first."""
    hidden = torch.randn(len(TEXT) - 1, SIZE, dtype=torch.float64)
    ids = torch.from_numpy(TEXT)[None]
    evidence, _ = layer.gather(hidden[None], ids[:, :-1], layer.begin(1))
    return tuple(part[0] for part in evidence), ids[0, 1:]


def expected(layer: NgramOutput, evidence, counted: torch.Tensor, totals) -> torch.Tensor:
    """The formulas of the docstring, with log probabilities and totals of the n-grams."""
    seen = torch.from_numpy(np.log1p(np.stack(totals, axis=1)) / 10)
    gate = linear(torch.cat([evidence[0], seen], 1), layer.gate.weight, layer.gate.bias) / 10
    logits = linear(evidence[0], layer.weight, layer.bias)
    if type(layer).__name__ == "NgramResidual":
        return (logits + 2 * gate.sigmoid() * counted).log_softmax(1)
    return torch.logaddexp(logits.log_softmax(1) + logsigmoid(gate), counted + logsigmoid(-gate))


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_uses_the_ngram_model_of_the_text(kind: str) -> None:
    layer = make(kind).eval()
    evidence, targets = evidence_of(layer)
    model = NGram.fit(TEXT, NgramConfig(order=ORDER), vocabulary_size=V, eos_id=EOS)
    counted = model.predict(evidence[1])
    wanted = expected(layer, evidence, counted, layer.ngrams.mixed(evidence[1].numpy()).totals[1:])
    found = layer.log_probs(evidence, None)
    assert torch.allclose(found, wanted, atol=1e-10)
    assert torch.allclose(found.exp().sum(1), torch.ones(len(targets), dtype=torch.float64))
    own = wanted.gather(1, targets[:, None]).squeeze(1)
    assert torch.allclose(layer.score(evidence, targets, None), own, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_training_leaves_the_current_occurrence_out(kind: str) -> None:
    layer = make(kind, samples=V).train()
    evidence, targets = evidence_of(layer)
    mixed = layer.ngrams.left_out(evidence[1].numpy(), targets.numpy())
    probs = layer.ngrams.of_words(mixed, np.arange(V), targets.numpy(), kind=np.float64)
    wanted = expected(layer, evidence, torch.from_numpy(probs).log(), mixed.totals[1:])
    own = -wanted.gather(1, targets[:, None]).sum().detach()
    loss = layer.loss(evidence, targets, None).detach()
    assert float(loss) == pytest.approx(float(own), rel=1e-5)  # n-grams are 32 bits in training
    sure = -layer.eval().score(evidence, targets, None).sum().detach()
    assert float(sure) < 0.98 * float(loss)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sampled_loss_is_right_on_average(kind: str) -> None:
    exact, sampled = make(kind, samples=V).train(), make(kind, samples=6).train()
    evidence, targets = evidence_of(exact)
    with torch.no_grad():
        whole = float(exact.loss(evidence, targets, None))
        mean = np.mean([float(sampled.loss(evidence, targets, None)) for _ in range(60)])
    assert mean == pytest.approx(whole, rel=0.02)


def test_the_gate_learns() -> None:
    for kind in KINDS:
        layer = make(kind).train()
        evidence, targets = evidence_of(layer)
        layer.loss(evidence, targets, None).backward()
        assert layer.gate.weight.grad.abs().min() > 0


def test_what_the_network_of_a_mixture_learns_from() -> None:
    """own=0: the mixture; own=1: its own loss, whatever the n-grams say."""
    gradients = {}
    for own in (0.0, 0.5, 1.0):
        layer = make("ngram-mixture", samples=V, own=own).train()
        torch.manual_seed(4)
        evidence, targets = evidence_of(layer)
        loss = layer.loss(evidence, targets, None)
        gradients[own] = torch.autograd.grad(loss, layer.weight)[0]
        logits = linear(evidence[0], layer.weight, layer.bias)
        alone = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    assert torch.allclose(gradients[1.0], torch.autograd.grad(alone, layer.weight)[0])
    assert torch.allclose(gradients[0.5], (gradients[0.0] + gradients[1.0]) / 2)
    assert gradients[0.0].norm() < 0.9 * gradients[1.0].norm()
    with pytest.raises(InputError, match="own=2: must be from 0 to 1"):
        make("ngram-mixture", own=2)


def model_of(kind: str):
    settings = {"cell": "gru", "hidden_size": SIZE, "embedding_size": SIZE, "output": kind}
    family = MODELS["recurrent"]
    config = family.config_class(**settings, output_options={"order": ORDER})
    torch.manual_seed(1)
    return family.build(config, TEXT, [str(word) for word in range(V)], EOS).eval(), config


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_holds_its_ngrams(kind: str) -> None:
    """Nothing but its arrays is needed to load it, and it can learn on from there."""
    model, config = model_of(kind)
    arrays = model.arrays()
    again = MODELS["recurrent"].restore(config, arrays, model.facts())
    ids = torch.from_numpy(TEXT)[None, :50]
    with torch.inference_mode():
        assert torch.equal(model.score(ids, model.start(1))[0], again.score(ids, again.start(1))[0])
    assert again.output.ngrams.order == ORDER
    for name in ("words", "once"):
        broken = arrays | {f"output.{name}": arrays[f"output.{name}"][:-1]}
        with pytest.raises(ValueError, match="n-grams do not match"):
            MODELS["recurrent"].restore(config, broken, model.facts())


def test_an_order_that_is_none() -> None:
    with pytest.raises(InputError, match="order=1: must be from 2 to 9"):
        OUTPUTS["ngram-residual"](SIZE, COUNTS, embedding_size=SIZE, tied=False, order=1)
