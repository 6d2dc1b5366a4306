"""Output layers: exact in evaluation, unbiased when training on samples."""

import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from elman.errors import InputError
from elman.layers.outputs import OUTPUTS, sampled
from elman.layers.outputs.full import FullSoftmax
from elman.layers.outputs.output import Output
from elman.state import State, map_state

V, SIZE, N = 40, 6, 12
COUNTS = torch.cat([1000 // torch.arange(1, 36), torch.zeros(5, dtype=torch.long)])  # five unseen
SHUFFLED = COUNTS[torch.randperm(V, generator=torch.Generator().manual_seed(1))]


# Outputs that are one softmax when they are evaluated; the others have formulas of their own.
SOFTMAXES = ["full", "sampled", "nce", "blackout", "augmented"]
TIED = [
    (kind, tied)
    for kind in OUTPUTS
    for tied in (False, True)
    if OUTPUTS[kind].can_be_tied or not tied
]
OPTIONS = {
    "sampled": {"samples": 10},
    "pointer": {"pointer_window": 3},
    "maxent": {"features": 90, "samples": 10},
}


def make(kind: str, *, tied: bool = False, **options) -> tuple[Output, torch.Tensor | None]:
    """An output layer with weights that make a difference, and the table it is tied to."""
    options = OPTIONS.get(kind, {}) | options
    layer = OUTPUTS[kind](SIZE, SHUFFLED, embedding_size=SIZE, tied=tied, **options).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    table = torch.randn(V, SIZE, dtype=torch.float64).mul(0.3).requires_grad_() if tied else None
    return layer, table


def make_rows(rows: int = N) -> tuple[torch.Tensor, torch.Tensor]:
    hidden = torch.randn(rows, SIZE, dtype=torch.float64, requires_grad=True)
    return hidden, SHUFFLED.double().multinomial(rows, replacement=True)


def evidence_of(layer: Output, hidden: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """As a model would gather it, from one text of as many words as there are rows."""
    ids = torch.arange(len(hidden))[None] % 5  # words come again
    memory: State = map_state(
        lambda part: part.double() if part.is_floating_point() else part, layer.begin(1)
    )
    evidence, _ = layer.gather(hidden[None], ids, memory)
    return tuple(part[0] for part in evidence)


def logits_of(layer: Output, hidden: torch.Tensor, table: torch.Tensor | None) -> torch.Tensor:
    return linear(hidden, layer.weight if table is None else table, layer.bias)


@pytest.mark.parametrize(("kind", "tied"), TIED)
def test_distributions_sum_to_one_and_scores_are_of_them(kind: str, tied: bool) -> None:
    (layer, table), (hidden, targets) = make(kind, tied=tied), make_rows()
    layer.eval()
    evidence = evidence_of(layer, hidden)
    log_probs = layer.log_probs(evidence, table)
    assert log_probs.shape == (N, V)
    ones = torch.ones(N, dtype=torch.float64)
    assert torch.allclose(log_probs.exp().sum(1), ones, rtol=0, atol=1e-12)
    assert log_probs.exp().std(1).min() > 1e-3  # nor are they all alike
    expected = log_probs.gather(1, targets[:, None])[:, 0]
    assert torch.allclose(layer.score(evidence, targets, table), expected, rtol=0, atol=1e-12)
    loss = layer.loss(evidence, targets, table)
    assert torch.allclose(loss, -expected.sum(), rtol=0, atol=1e-12)
    members = torch.arange(V) % 3 == 0
    with torch.no_grad():
        scores, masses = layer.score_and_mass(evidence, targets, members, table)
    assert torch.allclose(scores, expected, rtol=0, atol=1e-12)
    sums = log_probs[:, members].logsumexp(1)
    assert torch.allclose(masses, sums, rtol=0, atol=1e-12)
    every = torch.stack(
        [layer.score(evidence, torch.full((N,), word), table) for word in range(V)], dim=1
    )
    assert torch.allclose(every, log_probs, rtol=0, atol=1e-12)
    assert layer.score(tuple(part[:0] for part in evidence), targets[:0], table).shape == (0,)


@pytest.mark.parametrize("kind", SOFTMAXES)
@pytest.mark.parametrize("tied", [False, True])
def test_evaluation_is_the_softmax(kind: str, tied: bool) -> None:
    (layer, table), (hidden, targets) = make(kind, tied=tied), make_rows()
    logits = logits_of(layer, hidden, table)
    assert torch.allclose(
        layer.log_probs((hidden,), table), logits.log_softmax(1), rtol=0, atol=1e-12
    )
    # In training too: only the loss is another one there.
    expected = -cross_entropy(logits, targets, reduction="none")
    assert torch.allclose(layer.score((hidden,), targets, table), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "tied"), TIED)
def test_everything_gets_a_gradient(kind: str, tied: bool) -> None:
    (layer, table), (hidden, targets) = make(kind, tied=tied), make_rows()
    layer.loss(evidence_of(layer, hidden), targets, table).backward()
    parts = [hidden, *layer.parameters(), *([table] if tied else [])]
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in parts)


@pytest.mark.parametrize(("kind", "tied"), TIED)
def test_gradients_are_those_of_the_distribution(kind: str, tied: bool) -> None:
    """Of the loss in evaluation: against differentiating through the whole distribution."""
    (layer, table), (hidden, targets) = make(kind, tied=tied), make_rows()
    layer.eval()
    parts = [hidden, *layer.parameters(), *([table] if tied else [])]
    evidence = evidence_of(layer, hidden)
    log_probs = layer.log_probs(evidence, table)
    plain = torch.autograd.grad(-log_probs.gather(1, targets[:, None]).sum(), parts)
    own = torch.autograd.grad(layer.loss(evidence_of(layer, hidden), targets, table), parts)
    for one, other in zip(own, plain, strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-10)


def test_a_full_softmax_learns_the_same_in_training_as_in_evaluation() -> None:
    (layer, table), (hidden, targets) = make("full"), make_rows()
    assert isinstance(layer, FullSoftmax)
    learning = layer.loss((hidden,), targets, table)
    assert torch.equal(learning, layer.eval().loss((hidden,), targets, table))


@pytest.mark.parametrize("kind", [*SOFTMAXES, "classes", "hierarchical", "maxent", "mixture"])
def test_a_fresh_layer_knows_how_frequent_words_are(kind: str) -> None:
    layer = OUTPUTS[kind](SIZE, SHUFFLED, embedding_size=SIZE, tied=False, **OPTIONS.get(kind, {}))
    assert 0.09 < layer.weight.abs().max() <= 0.1
    evidence = evidence_of(layer.double(), torch.zeros(1, SIZE, dtype=torch.float64))
    if kind == "mixture":
        evidence = (torch.zeros_like(evidence[0]), evidence[1])
    probabilities = layer.log_probs(evidence, None).exp()[0]
    frequencies = (SHUFFLED + 1) / (SHUFFLED + 1).sum()
    assert torch.allclose(probabilities, frequencies.double(), rtol=1e-5)


# --- Samples


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.Tensor, ...]]:
    """What the softmax is asked to compute: hidden, weight, bias, targets and adjustment."""
    calls = []

    def listen(*parts: torch.Tensor) -> torch.Tensor:
        calls.append(parts)
        return output_loss(*parts)

    output_loss = sampled.softmax_loss
    monkeypatch.setattr(sampled, "softmax_loss", listen)
    return calls


def normaliser_of_first(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    targets: torch.Tensor,
    adjust: torch.Tensor,
) -> torch.Tensor:
    """The sum of exponentials that the first row's probability is divided by."""
    adjust = adjust.clone()
    adjust[targets[0]] = 0
    return (linear(hidden[0], weight, bias) + adjust).exp().sum()


@pytest.mark.parametrize("samples", [4, 11, 30])
@pytest.mark.parametrize("others", [0, 8])
def test_the_normaliser_is_right_on_average(samples: int, others: int, asked: list) -> None:
    """Over the words that are drawn, and over what else stands in a window."""
    layer, _ = make("sampled", samples=samples)
    hidden, targets = make_rows(1 + others)
    draws = 1500
    found = torch.empty(draws, dtype=torch.float64)
    with torch.no_grad():
        for draw in range(draws):
            targets[1:] = make_rows(others)[1] if others else targets[1:]
            layer.loss((hidden,), targets, None)
            found[draw] = normaliser_of_first(*asked.pop())
        expected = logits_of(layer, hidden[:1], None).exp().sum()
    error = found.std() / draws**0.5
    assert 0 < error < 0.03 * expected
    assert abs(found.mean() - expected) < 4 * error


@pytest.mark.parametrize("tied", [False, True])
def test_gradients_are_close_to_the_full_ones_on_average(tied: bool) -> None:
    (layer, table), (hidden, _) = make("sampled", tied=tied, samples=30), make_rows()
    parts = [hidden, *layer.parameters(), *([table] if tied else [])]

    def gradient(targets: torch.Tensor, training: bool) -> torch.Tensor:
        loss = layer.train(training).loss((hidden,), targets, table)
        return torch.cat([each.flatten() for each in torch.autograd.grad(loss, parts)])

    windows = [make_rows()[1] for _ in range(500)]
    full = [gradient(targets, training=False) for targets in windows]
    sampled = [gradient(targets, training=True) for targets in windows]
    mean = torch.stack(full).mean(0)
    assert (torch.stack(sampled).mean(0) - mean).norm() < 0.05 * mean.norm()
    assert (sampled[0] - full[0]).norm() > 0.1 * full[0].norm()  # a single one is not so close


def test_words_outside_of_the_frequent_ones_can_be_targets(asked: list) -> None:
    layer, _ = make("sampled", samples=4)
    never = SHUFFLED.eq(0).nonzero()[:, 0]
    hidden, _ = make_rows(len(never))
    layer.loss((hidden,), never, None)
    weights, places = asked[-1][1], asked[-1][3]
    assert torch.equal(weights[places], layer.weight[never])
    for row, word in enumerate(never):
        layer.zero_grad()
        layer.loss((hidden[row : row + 1],), word[None], None).backward()
        assert layer.bias.grad[word] < 0  # it is made more likely


def test_who_is_there(asked: list) -> None:
    layer, _ = make("sampled", samples=11)
    with torch.no_grad():
        layer.bias.copy_(torch.arange(V))  # tells which words they are
    frequent = set(SHUFFLED.argsort(descending=True, stable=True)[:5].tolist())
    hidden, targets = make_rows()
    drawn = set()
    for _ in range(100):
        layer.loss((hidden,), targets, None)
        words = [int(word) for word in asked.pop()[2]]
        assert len(set(words)) == len(words)
        assert frequent | set(targets.tolist()) <= set(words)
        assert 11 <= len(words) <= 11 + len(set(targets.tolist()))
        drawn |= set(words)
    assert drawn == set(range(V))


def test_words_that_are_always_there_stand_for_themselves(asked: list) -> None:
    layer, _ = make("sampled", samples=10)
    with torch.no_grad():
        layer.bias.copy_(torch.arange(V))
    layer.loss((make_rows()[0],), make_rows()[1], None)
    *_, bias, _, adjust = asked.pop()
    always = SHUFFLED.argsort(descending=True, stable=True)[:5]
    is_always = torch.isin(bias.long(), always)
    assert is_always.sum() == 5
    assert adjust[is_always].eq(0).all()
    assert adjust[~is_always].gt(0).all()


def test_samples_follow_from_the_random_state() -> None:
    (layer, _), rows = make("sampled"), make_rows()
    state = torch.get_rng_state()
    first, second = layer.loss((rows[0],), rows[1], None), layer.loss((rows[0],), rows[1], None)
    torch.set_rng_state(state)
    assert torch.equal(layer.loss((rows[0],), rows[1], None), first)
    assert not torch.equal(first, second)


def test_how_many_rows_a_token_is_multiplied_with() -> None:
    assert make("full")[0].rows_per_token(7) == V
    layer = make("sampled", samples=10)[0]
    assert layer.rows_per_token(0) == pytest.approx(10)
    assert 10 < layer.rows_per_token(7) < 17
    assert make("sampled", samples=V)[0].rows_per_token(7) == V


@pytest.mark.parametrize("samples", [-1, 0, 1])
def test_too_few_samples_are_refused(samples: int) -> None:
    with pytest.raises(InputError, match=f"samples={samples}: must be at least 2"):
        make("sampled", samples=samples)


@pytest.mark.parametrize("samples", [V, V + 1])
def test_as_many_samples_as_words_are_the_full_softmax(samples: int) -> None:
    layer, _ = make("sampled", samples=samples)
    rows = make_rows()
    learned = layer.train().loss((rows[0],), rows[1], None)
    assert torch.equal(learned, layer.eval().loss((rows[0],), rows[1], None))


def test_tied_weights_that_are_missing_are_a_mistake() -> None:
    layer, _ = make("full", tied=True)
    with pytest.raises(AssertionError, match="tied weights needs the word vectors"):
        layer.loss((make_rows()[0],), make_rows()[1], None)


def test_all_words_in_the_last_part_of_a_training() -> None:
    layer, _ = make("sampled", samples=10, full_last=0.25)
    hidden, targets = make_rows()
    layer.train()
    rows = layer.rows_per_token(N)
    assert rows < V
    assert not layer.follow(0.7)
    assert layer.follow(0.75)  # its operations change
    assert not layer.follow(0.9)
    assert layer.rows_per_token(N) == V
    exact = cross_entropy(logits_of(layer, hidden, None), targets, reduction="sum")
    assert torch.allclose(layer.loss((hidden,), targets, None), exact)
    assert layer.follow(0.0)  # back at the start, as after a divergence
    assert layer.rows_per_token(N) == rows
    with pytest.raises(InputError, match="full_last=1.5: must be from 0 to 1"):
        make("sampled", full_last=1.5)
