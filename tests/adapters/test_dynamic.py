"""Dynamic evaluation against its formula; the model is not changed."""

import copy

import numpy as np
import pytest
import torch

from elman.adapters import FitContext, adapt
from elman.adapters.dynamic import DynamicEvaluation, Rms, Sgd, Worker, root_mean_square
from elman.errors import InputError
from elman.evaluation.scoring import score_ids
from elman.models.neural import NeuralModel
from elman.models.recurrent import RecurrentConfig, RecurrentModel

SIZE, EOS = 10, 0
RANDOM = np.random.default_rng(4)
TEXT = RANDOM.integers(0, SIZE, 230)
SEGMENT = 4


@pytest.fixture
def network() -> RecurrentModel:
    torch.manual_seed(2)
    config = RecurrentConfig(cell="gru", hidden_size=7, embedding_size=6, output="sampled")
    model = RecurrentModel.build(config, TEXT, [str(n) for n in range(SIZE)], EOS)
    return model.double().eval()


def around(model: NeuralModel) -> FitContext:
    return FitContext(lambda _: np.zeros(1), lambda _: model, lambda: TEXT)


def weights_of(model: NeuralModel) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def by_hand(
    model: NeuralModel, ids: np.ndarray, rule: str, usual: list[torch.Tensor]
) -> list[float]:
    """Segments of inputs and targets as in training, learned from one after the other."""
    model = copy.deepcopy(model)
    trained = [parameter.detach().clone() for parameter in model.parameters()]
    inputs, carried = torch.tensor([[EOS, *ids[:-1]]]), model.begin(1)
    targets = torch.from_numpy(ids[None])
    scores = []
    mean = torch.cat([part.flatten() for part in usual]).mean()
    for begin in range(0, len(ids), SEGMENT):
        now = slice(begin, begin + SEGMENT)
        evidence, (_, after) = model.advance(inputs[:, now], carried)
        log_probs = model.score_from(evidence, targets[:, now])[0]
        scores += log_probs.tolist()
        if len(log_probs) < SEGMENT:
            break
        carried = tuple_detach(after)
        gradients = torch.autograd.grad(-log_probs.mean(), list(model.parameters()))
        with torch.no_grad():
            for weight, old, gradient, rms in zip(
                model.parameters(), trained, gradients, usual, strict=True
            ):
                if rule == "sgd":
                    weight -= 0.3 * gradient
                else:
                    back = (0.02 * rms / mean).clamp(max=1)
                    weight += back * (old - weight) - 3e-4 * gradient / (rms + 0.001)
    return scores


def tuple_detach(state: object) -> object:
    return tuple(map(tuple_detach, state)) if isinstance(state, tuple) else state.detach()


@pytest.mark.parametrize("rule", ["sgd", "rms"])
def test_segments_are_learned_from_after_they_were_counted(
    network: RecurrentModel, rule: str
) -> None:
    usual = root_mean_square(Worker(network), TEXT, SEGMENT, 5)
    step = Sgd(0.3) if rule == "sgd" else Rms(3e-4, 0.02, 0.001, usual)
    found = score_ids(DynamicEvaluation(network, SEGMENT, step), TEXT[:50], eos_id=EOS)
    expected = by_hand(network, TEXT[:50], rule, Worker(network).cut(usual))
    assert found.tolist() == pytest.approx(expected, abs=1e-10)
    static = score_ids(network, TEXT[:50], eos_id=EOS)
    assert found[:SEGMENT] == pytest.approx(static[:SEGMENT])
    assert np.abs(found - static)[SEGMENT:].max() > 1e-3


def test_the_model_stays_as_it_is_and_two_readings_are_the_same(network: RecurrentModel) -> None:
    before = weights_of(network)
    model = adapt(network, ["dynamic:rule=sgd,rate=1"], around(network))
    first, second = (score_ids(model, TEXT, eos_id=EOS) for _ in range(2))
    assert np.array_equal(first, second)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_without_a_rate_nothing_is_learned(network: RecurrentModel) -> None:
    for written in ("dynamic:rate=0", "dynamic:rule=sgd,rate=0"):
        model = adapt(network, [written], around(network))
        found = score_ids(model, TEXT, eos_id=EOS)
        assert found == pytest.approx(score_ids(network, TEXT, eos_id=EOS), abs=1e-10)


def test_it_learns_what_it_reads(network: RecurrentModel) -> None:
    text = np.tile([3, 1, 4, 1, 5], 60)
    model = adapt(network, ["dynamic:rule=sgd,rate=1"], around(network))
    static, found = (score_ids(m, text, eos_id=EOS) for m in (network, model))
    assert found[200:].mean() > static[200:].mean() + 1


def test_it_goes_directly_around_the_model_wherever_it_is_written(network: RecurrentModel) -> None:
    written = ["continuous-cache:theta=1,weight=0.1", "dynamic:rule=sgd"]
    model = adapt(network, written, around(network))
    assert isinstance(model.model, DynamicEvaluation)
    with pytest.raises(InputError, match="needs a neural run"):
        adapt(network, ["dynamic:rule=sgd", "monte-carlo"], around(network))


def test_gradients_are_the_root_mean_square_of_batches(network: RecurrentModel) -> None:
    usual = root_mean_square(Worker(network), TEXT, 3, 2)
    columns = 57  # of 4 tokens: 3 inputs, each with its target
    text = torch.from_numpy(TEXT[: columns * 4]).view(columns, 4)
    evidence, _ = network.advance(text[:, :-1], network.begin(columns))
    loss = -network.score_from(evidence, text[:, 1:]).mean()
    expected = torch.cat([g.flatten() for g in torch.autograd.grad(loss, network.parameters())])
    assert usual.tolist() == pytest.approx(expected.abs().tolist(), abs=1e-12)
    with pytest.raises(InputError, match="too short"):
        root_mean_square(Worker(network), TEXT[:3], 3, 2)


def test_decay_can_be_rare(network: RecurrentModel) -> None:
    """With rate 0 and other weights, only the decay is left: three at once are three in turn."""
    usual = root_mean_square(Worker(network), TEXT, SEGMENT, 5)
    moved = Worker(network).trained + 0.1
    after = []
    for every in (1, 3):
        dynamic = DynamicEvaluation(network, SEGMENT, Rms(0.0, 0.02, 0.001, usual, every=every))
        carried, ids, _, since = dynamic.start(1)
        state = (carried, ids, moved[None], since)
        for begin in range(0, 30, 10):  # the count of segments is part of the state
            state = dynamic.read(torch.from_numpy(TEXT[None, begin : begin + 10]), state)
        after.append(state)
    # 30 words are 7 segments: 7 decays, or 2 of three each.
    assert [int(state[3]) for state in after] == [0, 1]
    left = [(state[2][0] - Worker(network).trained) / 0.1 for state in after]
    assert torch.allclose(left[0] ** (6 / 7), left[1], atol=1e-9)
    assert left[0].max() > left[0].min()


def test_sparse_updates_leave_improbable_words_alone(network: RecurrentModel) -> None:
    def weights_after(sparse: float) -> torch.Tensor:
        dynamic = DynamicEvaluation(network, SEGMENT, Sgd(0.3), sparse=sparse)
        state = dynamic.read(torch.from_numpy(TEXT[None, : SEGMENT + 1]), dynamic.start(1))
        return state[2][0]

    whole, nearly, part = (weights_after(sparse) for sparse in (0.0, 1e-9, 0.12))
    assert torch.allclose(whole, nearly, atol=1e-12)
    trained = Worker(network).trained
    rows = (part - trained).view(-1)[: SIZE * 6].view(SIZE, 6).abs().sum(1) > 0  # word vectors
    read = {EOS, *TEXT[: SEGMENT + 1].tolist()}
    assert read <= set(rows.nonzero().flatten().tolist())
    assert not rows.all()


def test_sparse_updates_of_rms(network: RecurrentModel) -> None:
    usual = root_mean_square(Worker(network), TEXT, SEGMENT, 5)
    rule = Rms(3e-4, 0.02, 0.001, usual)
    whole = score_ids(DynamicEvaluation(network, SEGMENT, rule), TEXT, eos_id=EOS)
    same = DynamicEvaluation(network, SEGMENT, rule, sparse=1e-9)
    np.testing.assert_allclose(score_ids(same, TEXT, eos_id=EOS), whole, atol=1e-9)
    assert same.settings()["sparse"] == 1e-9


@pytest.mark.parametrize("wrong", ["sparse=1", "sparse=-0.1", "decay_every=0"])
def test_wrong_settings_of_speed(network: RecurrentModel, wrong: str) -> None:
    with pytest.raises(InputError, match="dynamic: "):
        adapt(network, [f"dynamic:rule=sgd,{wrong}"], around(network))
