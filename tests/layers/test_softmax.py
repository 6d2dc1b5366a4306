"""The softmax in chunks equals the softmax, without a (tokens × vocabulary) tensor."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from elman.layers import softmax
from elman.layers.softmax import softmax_loss, softmax_scores, softmax_scores_and_masses

N, V, SIZE = 23, 17, 5


def make(rows: int = N, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    hidden, weight, bias = (
        torch.randn(shape, dtype=dtype, requires_grad=True)
        for shape in [(rows, SIZE), (V, SIZE), V]
    )
    return hidden, weight, bias, torch.randint(V, (rows,))


def whole(*parts: torch.Tensor) -> torch.Tensor:
    hidden, weight, bias, targets = parts
    return cross_entropy(linear(hidden, weight, bias), targets, reduction="sum")


def gradients(loss: torch.Tensor, parts: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad(3 * loss, parts[:3])


def _set_chunks(monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    monkeypatch.setattr(softmax, "_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(softmax, "_CHUNK_ROWS", 1)


@pytest.fixture(params=[1, V * 8 * 4, V * 8 * N, 8 << 20])
def _chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of one row, of four, of all, and as they are; and blocks of scores."""
    _set_chunks(monkeypatch, request.param)
    for name in ("_BLOCK_ROWS", "_BLOCK_WORDS"):
        monkeypatch.setattr(softmax, name, max(1, request.param // (V * 8)))


@pytest.mark.usefixtures("_chunks")
def test_loss_and_gradients_are_those_of_cross_entropy() -> None:
    parts = make()
    loss, expected = softmax_loss(*parts), whole(*parts)
    assert torch.allclose(loss, expected, rtol=0, atol=1e-12)
    for one, other in zip(gradients(loss, parts), gradients(expected, parts), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("_chunks")
def test_with_smoothing_too() -> None:
    hidden, weight, bias, targets = parts = make()
    loss = softmax_loss(*parts, smoothing=0.2)
    logits = linear(hidden, weight, bias)
    expected = cross_entropy(logits, targets, reduction="sum", label_smoothing=0.2)
    assert torch.allclose(loss, expected, rtol=0, atol=1e-12)
    for one, other in zip(gradients(loss, parts), gradients(expected, parts), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("_chunks")
def test_scores_are_log_softmax_at_the_targets() -> None:
    hidden, weight, bias, targets = make()
    expected = linear(hidden, weight, bias).log_softmax(1).gather(1, targets[:, None])[:, 0]
    scores = softmax_scores(hidden, weight, bias, targets)
    assert torch.allclose(scores, expected, rtol=0, atol=1e-12)
    count = torch.randn(N, dtype=torch.float64)  # how much each counts
    parts = (hidden, weight, bias)
    own = torch.autograd.grad((count * scores).sum(), parts)
    plain = torch.autograd.grad((count * expected).sum(), parts)
    for one, other in zip(own, plain, strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)
    with torch.no_grad():  # then in blocks of the vocabulary
        scores = softmax_scores(hidden, weight, bias, targets)
    assert torch.allclose(scores, expected, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("_chunks")
@pytest.mark.parametrize("words", [[], [3], [0, 4, 5, 16], [*range(V)]])
@torch.no_grad()
def test_masses_are_sums_over_a_set_of_words(words: list[int]) -> None:
    hidden, weight, bias, targets = make()
    members = torch.zeros(V, dtype=torch.bool)
    members[words] = True
    log_probs = linear(hidden, weight, bias).log_softmax(1)
    scores, masses = softmax_scores_and_masses(hidden, weight, bias, targets, members)
    expected = log_probs.gather(1, targets[:, None])[:, 0]
    assert torch.allclose(scores, expected, rtol=0, atol=1e-12)
    assert torch.allclose(masses, log_probs[:, members].logsumexp(1), rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_set_of_words_that_are_nearly_impossible_has_a_mass() -> None:
    hidden, weight = torch.ones(1, 1), torch.zeros(3, 1)
    bias = torch.tensor([0.0, -200.0, -200.0])  # exp(-200) is 0 in single precision
    members, targets = torch.tensor([False, True, True]), torch.tensor([2])
    scores, masses = softmax_scores_and_masses(hidden, weight, bias, targets, members)
    assert scores.tolist() == [-200.0]
    assert masses.item() == pytest.approx(-200 + math.log(2))


@pytest.mark.usefixtures("_chunks")
def test_no_rows() -> None:
    parts = make(0)
    loss = softmax_loss(*parts)
    assert loss.item() == 0
    assert [tuple(each.shape) for each in gradients(loss, parts)] == [(0, SIZE), (V, SIZE), (V,)]
    assert all(each.eq(0).all() for each in gradients(softmax_loss(*parts), parts))
    assert softmax_scores(*parts).shape == (0,)


def test_chunks_follow_each_other_and_are_of_like_size(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_chunks(monkeypatch, 7 * V * 4)
    slices = list(softmax.chunks(N, V, torch.empty(0)))
    assert [(each.start, each.stop) for each in slices] == [(0, 5), (5, 11), (11, 17), (17, 23)]


@pytest.mark.parametrize(
    ("vocabulary_size", "first"), [(1_000, 1500), (10_000, 375), (33_278, 375), (400_000, 40)]
)
def test_chunks_of_large_vocabularies_have_enough_rows(vocabulary_size: int, first: int) -> None:
    slices = list(softmax.chunks(1500, vocabulary_size, torch.empty(0)))
    assert slices[0] == slice(0, first)
    assert sum(each.stop - each.start for each in slices) == 1500


def test_gradcheck(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_chunks(monkeypatch, V * 8 * 4)
    *parts, targets = make(6)
    adjust = torch.randn(V, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *given: softmax_loss(*given, targets), parts)
    assert torch.autograd.gradcheck(lambda *given: softmax_loss(*given, targets, adjust), parts)


@pytest.mark.usefixtures("_chunks")
def test_every_logit_but_the_targets_is_adjusted() -> None:
    hidden, weight, bias, targets = parts = make()
    adjust = torch.randn(V, dtype=torch.float64)
    others = torch.ones(N, V, dtype=torch.float64).scatter_(1, targets[:, None], 0)
    logits = linear(hidden, weight, bias) + adjust * others
    expected = cross_entropy(logits, targets, reduction="sum")
    loss = softmax_loss(*parts, adjust)
    assert torch.allclose(loss, expected, rtol=0, atol=1e-12)
    for one, other in zip(gradients(loss, parts), gradients(expected, parts), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)


def test_some_inputs_may_be_fixed() -> None:
    hidden, weight, bias, targets = make()
    loss = softmax_loss(hidden.detach(), weight, bias.detach(), targets)
    (gradient,) = torch.autograd.grad(loss, weight)
    expected = torch.autograd.grad(whole(hidden, weight, bias, targets), weight)[0]
    assert torch.allclose(gradient, expected, rtol=0, atol=1e-12)


def test_rows_that_do_not_lie_side_by_side_in_memory() -> None:
    hidden, weight, bias, targets = make()
    turned = hidden.detach().t().contiguous().t().requires_grad_()
    assert not turned.is_contiguous()
    expected = gradients(whole(hidden, weight, bias, targets), (hidden, weight, bias))
    loss = softmax_loss(turned, weight, bias, targets)
    for one, other in zip(gradients(loss, (turned, weight, bias)), expected, strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e3, 1e6, -1e6])
def test_large_logits_stay_finite(size: float) -> None:
    *parts, targets = make(dtype=torch.float32)
    hidden, weight, bias = (each.detach().mul_(size).requires_grad_() for each in parts)
    loss = softmax_loss(hidden, weight, bias, targets)
    assert torch.isfinite(loss)
    assert torch.allclose(loss, whole(hidden, weight, bias, targets))
    assert all(each.isfinite().all() for each in gradients(loss, (hidden, weight, bias)))
    assert softmax_scores(hidden, weight, bias, targets).isfinite().all()


def test_the_sum_is_exact_in_single_precision() -> None:
    """Summed one after another, 40,000 rows of 1 and 100 nats would be wrong in the sixth digit."""
    hidden, weight = torch.zeros(40_000, 1), torch.zeros(2, 1)
    bias = torch.tensor([0.0, 100.1])
    targets = torch.zeros(40_000, dtype=torch.long)
    assert softmax_loss(hidden, weight, bias, targets).item() == torch.tensor(100.1 * 4e4).item()


# --- Memory


class _Seen(torch.utils._python_dispatch.TorchDispatchMode):
    """The largest tensor that any operation gives, in numbers; and what was computed."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0
        self.operations: list[str] = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        self.operations.append(function._schema.name)
        for each in result if isinstance(result, tuple | list) else [result]:
            if isinstance(each, torch.Tensor):
                self.largest = max(self.largest, each.untyped_storage().nbytes() // 8)
        return result


def test_no_matrix_of_tokens_times_vocabulary_is_ever_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _set_chunks(monkeypatch, V * 8 * 4)
    monkeypatch.setattr(softmax, "_BLOCK_ROWS", 16)
    monkeypatch.setattr(softmax, "_BLOCK_WORDS", 4)
    parts = make(200)
    with _Seen() as seen:
        gradients(softmax_loss(*parts), parts)
    assert 0 < seen.largest <= 200 * SIZE < 200 * V
    with _Seen() as seen, torch.no_grad():
        softmax_scores(*parts)
    assert 0 < seen.largest <= 200 * SIZE
    with _Seen() as seen:
        gradients(whole(*parts), parts)
    assert seen.largest == 200 * V  # that is, such a matrix would have been seen


def test_nothing_of_that_size_is_kept_for_the_way_back() -> None:
    kept: list[tuple[int, ...]] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        softmax_loss(*make())
    assert sorted(kept) == sorted([(N, SIZE), (V, SIZE), (V,)])


def test_without_learning_no_gradient_is_computed() -> None:
    parts = make()
    with _Seen() as seen, torch.no_grad():
        loss = softmax_loss(*parts)
    assert torch.allclose(loss, whole(*parts), rtol=0, atol=1e-12)
    products = [name for name in seen.operations if "mm" in name]
    assert products == ["aten::addmm"]  # the logits, and nothing else
