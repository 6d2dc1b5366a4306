"""Output layers against the formulas of their papers."""

import pytest
import torch
from torch.nn.functional import kl_div, linear, softmax

from elman.errors import InputError
from elman.layers.outputs import OUTPUTS
from elman.layers.outputs.output import Output

V, SIZE, N = 30, 5, 8
COUNTS = (900 // torch.arange(1, V + 1))[
    torch.randperm(V, generator=torch.Generator().manual_seed(2))
]


def make(kind: str, *, size: int = SIZE, tied: bool = False, **options) -> Output:
    layer = OUTPUTS[kind](size, COUNTS, embedding_size=SIZE, tied=tied, **options).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return layer


def rows(count: int = N) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(count, SIZE, dtype=torch.float64), torch.randint(V, (count,))


# --- Learning from noise


def drawn_by(layer: Output, samples: int) -> torch.Tensor:
    """The words that the layer will draw next."""
    state = torch.get_rng_state()
    words = torch.multinomial(layer.noise, samples, replacement=True)
    torch.set_rng_state(state)
    return words


def test_nce_tells_a_word_from_noise() -> None:
    layer, (hidden, targets) = make("nce", samples=6), rows()
    noise = drawn_by(layer, 6)
    q = ((COUNTS + 1) / (COUNTS + 1).sum()).double()
    scores = linear(hidden, layer.weight, layer.bias).exp()
    expected = 0.0
    for row in range(N):
        p = scores[row, targets[row]]
        expected -= torch.log(p / (p + 6 * q[targets[row]]))
        for word in noise:
            expected -= torch.log(6 * q[word] / (scores[row, word] + 6 * q[word]))
    assert torch.allclose(layer.loss((hidden,), targets, None), expected, rtol=1e-6)


def test_blackout_is_a_softmax_over_target_and_noise() -> None:
    layer, (hidden, targets) = make("blackout", samples=6), rows()
    noise = drawn_by(layer, 6)
    targets[0] = noise[2]  # once, the target is among the noise
    q = (COUNTS + 1).double().pow(0.4)
    q = q / q.sum()
    scores = linear(hidden, layer.weight, layer.bias).exp() / q
    expected = 0.0
    for row in range(N):
        others = [word for word in noise if word != targets[row]]
        total = scores[row, targets[row]] + sum(scores[row, word] for word in others)
        expected -= torch.log(scores[row, targets[row]] / total)
        expected -= sum(torch.log(1 - scores[row, word] / total) for word in others)
    assert torch.allclose(layer.loss((hidden,), targets, None), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["sampled", "nce", "blackout"])
def test_learning_from_samples_comes_to_the_true_distribution(kind: str) -> None:
    """One context, a distribution to learn: what is evaluated becomes it."""
    truth = torch.rand(V).pow(3)
    truth /= truth.sum()
    options = {"samples": 12} if kind == "sampled" else {"samples": 40}
    layer = OUTPUTS[kind](1, COUNTS, embedding_size=1, tied=False, **options)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    hidden = torch.ones(400, 1)
    for step in range(600):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / 600)
        targets = torch.multinomial(truth, 400, replacement=True)
        optimizer.zero_grad()
        layer.loss((hidden,), targets, None).div(400).backward()
        optimizer.step()
    found = layer.eval().log_probs((hidden[:1],), None)[0]
    divergence = (truth * (truth.log() - found)).sum()
    start = (truth * (truth.log() - ((COUNTS + 1) / (COUNTS + 1).sum()).log())).sum()
    assert start > 0.5
    # BlackOut also pushes noise away from the target, so it is a little off the distribution.
    assert divergence < (0.05 if kind == "blackout" else 0.015)


# --- Structured vocabularies


def test_classes_hold_every_word_once_and_frequent_words_have_small_ones() -> None:
    layer = make("classes", classes=6)
    sizes = torch.bincount(layer.class_of, minlength=6)
    assert sizes.sum() == V
    assert sizes.min() >= 1
    ranked = COUNTS.argsort(descending=True)
    assert sizes[layer.class_of[ranked[0]]] < sizes[layer.class_of[ranked[-1]]]
    assert make("classes").classes == round(V**0.5)


@pytest.mark.parametrize("classes", [1, 2, V - 1, V, V + 5])
def test_any_number_of_classes(classes: int) -> None:
    layer, (hidden, _) = make("classes", classes=classes), rows()
    assert torch.bincount(layer.class_of).min() >= 1
    assert int(layer.class_of.max()) + 1 == min(classes, V)
    total = layer.log_probs((hidden,), None).exp().sum(1)
    assert torch.allclose(total, torch.ones(N, dtype=torch.float64))


def test_one_class_is_the_softmax() -> None:
    layer, (hidden, _) = make("classes", classes=1), rows()
    plain = linear(hidden, layer.weight, layer.bias).log_softmax(1)
    assert torch.allclose(layer.log_probs((hidden,), None), plain, rtol=0, atol=1e-12)


def test_huffmans_tree_puts_frequent_words_near_the_root() -> None:
    layer = make("hierarchical")
    ranked = COUNTS.argsort(descending=True)
    assert layer.lengths[ranked[0]] < layer.lengths[ranked[-1]]
    # Kraft: a tree in which every inner node has two children.
    assert torch.pow(2.0, -layer.lengths.double()).sum() == 1
    frequency = (COUNTS + 1) / (COUNTS + 1).sum()
    entropy = -(frequency * frequency.log2()).sum()
    assert entropy <= layer.multiplications(1) / SIZE < entropy + 1


def test_a_path_is_a_product_of_decisions() -> None:
    layer, (hidden, targets) = make("hierarchical"), rows()
    logits = linear(hidden, layer.weight, layer.bias)
    for row, word in enumerate(targets):
        probability = 1.0
        for at in range(int(layer.lengths[word])):
            node, sign = layer.nodes[word, at], layer.signs[word, at].double()
            probability *= torch.sigmoid(sign * logits[row, node])
        score = layer.score((hidden[row : row + 1],), word[None], None)
        assert torch.allclose(score.exp(), probability, rtol=1e-10)


def test_two_words_are_one_decision() -> None:
    layer = OUTPUTS["hierarchical"](SIZE, torch.tensor([3, 9]), embedding_size=SIZE, tied=False)
    assert layer.weight.shape == (1, SIZE)
    assert torch.allclose(
        layer.log_probs((torch.zeros(1, SIZE),), None).exp()[0], torch.tensor([4 / 14, 10 / 14])
    )


def test_adaptive_clusters_are_of_rare_words() -> None:
    layer = make("adaptive", cutoffs=(4, 12), shrink=2.0)
    assert layer.softmax.head.weight.shape == (4 + 2, SIZE)
    hidden, _ = rows()
    head = layer.softmax.head(hidden).log_softmax(1)
    frequent = COUNTS.argsort(descending=True, stable=True)[:4]
    assert torch.allclose(layer.log_probs((hidden,), None)[:, frequent], head[:, :4])


@pytest.mark.parametrize("cutoffs", [(4, 4), (12, 4), (0, 3), (4, V), (-1,)])
def test_cutoffs_that_cannot_be_are_refused(cutoffs: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="cutoffs=.*must rise"):
        make("adaptive", cutoffs=cutoffs)


@pytest.mark.parametrize("kind", ["adaptive", "hierarchical"])
def test_what_has_other_weights_cannot_be_tied(kind: str) -> None:
    with pytest.raises(InputError, match="tied=false"):
        make(kind, tied=True)


# --- Mixtures and further losses


def test_a_mixture_of_softmaxes() -> None:
    layer, (hidden, _) = make("mixture", experts=3), rows()
    evidence, _ = layer.gather(hidden[None], torch.zeros(1, N, dtype=torch.long), layer.begin(1))
    evidence = tuple(part[0] for part in evidence)
    prior = softmax(hidden @ layer.prior.weight.t(), 1)
    latent = torch.tanh(layer.latent(hidden)).view(N, 3, SIZE)
    each = softmax(latent @ layer.weight.t() + layer.bias, 2)
    expected = (prior[:, :, None] * each).sum(1).log()
    assert torch.allclose(layer.log_probs(evidence, None), expected, rtol=0, atol=1e-12)


def test_a_mixture_leads_to_the_size_of_word_vectors_by_itself() -> None:
    layer = make("mixture", size=7, tied=True, experts=2)
    assert layer.project is None
    assert layer.latent.weight.shape == (2 * SIZE, 7)


def test_the_augmented_loss() -> None:
    layer, (hidden, targets) = make("augmented", gamma=0.7, temperature=3.0), rows()
    hidden.requires_grad_()
    logits = linear(hidden, layer.weight, layer.bias)
    plain = -logits.log_softmax(1).gather(1, targets[:, None]).sum()
    goal = softmax(layer.weight @ layer.weight[targets].t() / 3, 0).t().detach()
    extra = 3 * kl_div((logits / 3).log_softmax(1), goal, reduction="sum")
    loss = layer.loss((hidden,), targets, None)
    assert torch.allclose(loss, plain + 0.7 * extra, rtol=0, atol=1e-10)
    parts = [hidden, *layer.parameters()]
    own = torch.autograd.grad(loss, parts)
    for one, other in zip(own, torch.autograd.grad(plain + 0.7 * extra, parts), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-10)
    assert torch.allclose(layer.eval().loss((hidden,), targets, None), plain)


# --- Outputs that look back


def test_features_of_ngrams_are_added_and_shared_by_the_same_history() -> None:
    layer = make("maxent", order=3, features=2000, samples=V)
    ids = torch.tensor([[4, 5, 6, 4, 5, 6, 9, 5, 6]])
    hidden = torch.zeros(1, 9, SIZE, dtype=torch.float64)
    (_, places), memory = layer.gather(hidden, ids, layer.begin(1))
    assert torch.equal(memory, ids[:, -2:])
    assert places.shape == (1, 9, 2)
    after = places[0].tolist()
    assert after[2] == after[5]  # after "5 6"
    assert after[2][0] == after[8][0]  # after "6"
    assert after[2] == after[8]  # after "5 6" again: what stood before it does not matter
    assert after[1][0] == after[7][0]  # after "5"
    assert after[1][1] != after[7][1]  # "4 5" is not "9 5"
    assert after[1][0] != after[1][1]  # nor is a history of one word one of two
    logits = layer.bias.clone()
    for place in after[5]:
        logits = logits + layer.features[place : place + V]
    found = layer.log_probs((hidden[0, 5:6], places[0, 5:6]), None)[0]
    assert torch.allclose(found, logits.log_softmax(0), rtol=0, atol=1e-12)


def test_histories_are_spread_over_the_table() -> None:
    layer = OUTPUTS["maxent"](SIZE, COUNTS, embedding_size=SIZE, tied=False, features=1_000_000)
    ids = torch.cartesian_prod(torch.arange(V), torch.arange(V)).view(1, -1)
    (_, places), _ = layer.gather(torch.zeros(1, ids.shape[1], SIZE), ids, layer.begin(1))
    pairs = places[0, 1::2, 1]
    assert len(pairs.unique()) > 0.99 * len(pairs)
    assert 0.4 < pairs.double().mean() / 1_000_000 < 0.6


def test_a_pointer_or_the_vocabulary() -> None:
    layer = make("pointer", pointer_window=3)
    ids = torch.tensor([[7, 8, 7, 9, 7]])
    hidden = torch.randn(1, 5, SIZE, dtype=torch.float64)
    words, keys = layer.begin(1)
    evidence, memory = layer.gather(hidden, ids, (words, keys.double()))
    found = layer.log_probs(tuple(part[0] for part in evidence), None).exp()
    for step in range(5):
        query = torch.tanh(layer.query(hidden[0, step]))
        last = range(max(0, step - 2), step + 1)
        scores = [query @ hidden[0, at] for at in last] + [query @ layer.sentinel]
        attention = torch.stack(scores).softmax(0)
        expected = attention[-1] * linear(hidden[0, step], layer.weight, layer.bias).softmax(0)
        for share, at in zip(attention, last, strict=False):
            expected[ids[0, at]] += share
        assert torch.allclose(found[step], expected, rtol=0, atol=1e-12)
    assert torch.equal(memory[0], ids[:, -3:])
    assert torch.equal(memory[1], hidden[:, -3:])


def test_a_pointer_is_taught_by_itself_too() -> None:
    layer = make("pointer", pointer_window=2)
    words, keys = layer.begin(1)
    hidden = torch.randn(1, 3, SIZE, dtype=torch.float64)
    ids, targets = torch.tensor([[3, 4, 3]]), torch.tensor([4, 3, 11])
    evidence, _ = layer.gather(hidden, ids, (words, keys.double()))
    evidence = tuple(part[0] for part in evidence)
    _, attention, pointed = evidence
    here = (attention[:, :-1].exp() * (pointed == targets[:, None])).sum(1)
    by_itself = -(here + attention[:, -1].exp()).log().sum()
    expected = -layer.score(evidence, targets, None).sum() + by_itself
    assert torch.allclose(layer.loss(evidence, targets, None), expected, rtol=1e-10)
