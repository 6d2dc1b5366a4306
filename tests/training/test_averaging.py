"""Averages are a second set of weights: means of the first, which they never change."""

import json

import pytest
import torch

from elman.training.averaging import AVERAGES, Averages
from elman.training.settings import TrainingConfig

Weights = dict[str, torch.Tensor]


def make(kind: str, weights: Weights, **settings) -> Averages:
    return AVERAGES[kind](TrainingConfig(average=kind, **settings), weights)


def steps(count: int) -> list[Weights]:
    """What the weights are after each step."""
    torch.manual_seed(0)
    return [
        {"a": torch.randn(3, 2, dtype=torch.float64), "b": torch.randn(4, dtype=torch.float64)}
        for _ in range(count)
    ]


def started(weights: Weights) -> Averages:
    averages = make("nt-asgd", weights, trigger=1)
    for nats in (1.0, 1.0, 2.0):
        averages.observe(nats, weights)
    assert averages.weights is not None
    return averages


def test_the_mean_is_the_mean() -> None:
    before, *after = steps(20)
    averages = started(before)
    for number, weights in enumerate(after, 1):
        averages.update(weights)
        for name, mean in averages.weights.items():
            expected = torch.stack([each[name] for each in after[:number]]).mean(0)
            assert torch.allclose(mean, expected, rtol=0, atol=1e-14)
    assert averages.steps == 19


def test_the_first_step_alone_is_its_own_mean() -> None:
    before, after = steps(2)
    averages = started(before)
    assert all(torch.equal(averages.weights[name], before[name]) for name in before)
    averages.update(after)
    assert all(torch.equal(averages.weights[name], after[name]) for name in after)


def test_the_weights_of_the_model_are_untouched() -> None:
    given = steps(6)
    kept = [{name: weight.clone() for name, weight in weights.items()} for weights in given]
    for averages in (started(given[0]), make("ema", given[0], average_decay=0.5)):
        for weights in given[1:]:
            averages.update(weights)
        for one, other in zip(given, kept, strict=True):
            assert all(torch.equal(one[name], other[name]) for name in one)
        parts = {weight.data_ptr() for weights in given for weight in weights.values()}
        assert not parts & {weight.data_ptr() for weight in averages.weights.values()}


def test_averages_of_parameters_have_no_graph() -> None:
    parameters = {"a": torch.nn.Parameter(torch.ones(2))}
    averages = make("ema", parameters)
    averages.update(parameters)
    assert not averages.weights["a"].requires_grad
    assert averages.weights["a"].is_leaf


# --- When


def begins_at(validations: list[float], trigger: int, kind: str = "nt-asgd") -> int | None:
    weights = steps(1)[0]
    averages = make(kind, weights, trigger=trigger)
    for number, nats in enumerate(validations):
        averages.observe(nats, weights)
        if averages.weights is not None:
            return number
    return None


def merity(validations: list[float], nonmono: int) -> int | None:
    """The rule in the authors' main.py, word for word."""
    best_val_loss: list[float] = []
    for number, val_loss in enumerate(validations):
        if len(best_val_loss) > nonmono and val_loss > min(best_val_loss[:-nonmono]):
            return number
        best_val_loss.append(val_loss)
    return None


def test_the_trigger_of_awd_lstm() -> None:
    falling = [5.0, 4.9, 4.8, 4.7, 4.6, 4.5, 4.4]
    assert begins_at(falling, 5) is None
    assert begins_at([*falling, 4.95], 5) == 7  # above 4.9, the best but for the last five
    assert begins_at([*falling, 4.85], 5) is None  # below it, however much worse than 4.4
    assert begins_at([4.0, 5.0, 5.0, 5.0, 5.0, 5.0], 5) is None  # five are forgiven
    assert begins_at([4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0], 5) == 6
    assert begins_at([4.0] * 20, 5) is None  # as good is not worse


@pytest.mark.parametrize("trigger", [1, 2, 5])
def test_the_trigger_agrees_with_the_authors_code(trigger: int) -> None:
    generator = torch.Generator().manual_seed(trigger)
    begun = []
    for _ in range(200):
        noise = torch.rand(15, generator=generator)
        validations = (5 - 0.02 * torch.arange(15) + 0.3 * noise).tolist()
        begun.append(begins_at(validations, trigger))
        assert begun[-1] == merity(validations, trigger)
    assert len(set(begun)) > 3


def test_a_trigger_of_zero_waits_for_the_first_loss() -> None:
    assert begins_at([5.0, 4.9, 4.95], 0) == 2


@pytest.mark.parametrize("kind", ["none", "ema"])
def test_others_have_no_trigger(kind: str) -> None:
    expected = None if kind == "none" else 0
    assert begins_at([1.0, 2.0, 3.0, 4.0], 1, kind) == expected


def test_averaging_goes_on_once_it_has_begun() -> None:
    first, second, third = steps(3)
    averages = started(first)
    averages.update(second)
    averages.observe(9.0, third)  # worse again: it does not begin anew
    assert averages.steps == 1
    assert torch.equal(averages.weights["a"], second["a"])


def test_none_keeps_nothing() -> None:
    averages = make("none", steps(1)[0])
    for weights in steps(4):
        averages.update(weights)
        averages.observe(5.0, weights)
    assert averages.weights is None
    assert averages.steps == 0


# --- Forgetting


def test_a_forgetting_mean() -> None:
    before, *after = steps(30)
    averages = make("ema", before, average_decay=0.9)
    assert torch.equal(averages.weights["a"], before["a"])
    expected = before["a"]
    for number, weights in enumerate(after, 1):
        averages.update(weights)
        share = max(1 / number, 0.1)  # a plain mean, until ten steps are in it
        expected = (1 - share) * expected + share * weights["a"]
        assert torch.allclose(averages.weights["a"], expected, rtol=0, atol=1e-13)


def test_a_recent_mean_forgets_the_first_weights_sooner() -> None:
    """Weights that rise by one per step: the mean is close behind, however short the training."""
    averages = make("recent", {"a": torch.zeros(1)}, average_decay=0.999)
    lags = []
    for number in range(1, 20_001):
        averages.update({"a": torch.tensor([float(number)])})
        lags.append(number - float(averages.weights["a"]))
    for number in (50, 500, 5000):
        assert 0.08 * number < lags[number - 1] < 0.12 * number
    assert lags[-1] == pytest.approx(999, rel=0.05)  # as ema, in the long run


# --- Restarts


@pytest.mark.parametrize("kind", AVERAGES)
@pytest.mark.parametrize("stop", range(12))
def test_averages_go_on_after_a_restart(kind: str, stop: int) -> None:
    validations = [5.0, 4.9, 4.95, 4.97, 4.8, 4.99, 5.0, 5.1, 5.0, 5.2, 5.3, 5.4]
    every = steps(13)

    def advance(averages: Averages, steps: range) -> None:
        for step in steps:
            averages.update(every[step + 1])
            averages.observe(validations[step], every[step + 1])

    whole, stopped, again = (make(kind, every[0], trigger=3) for _ in range(3))
    advance(whole, range(12))
    advance(stopped, range(stop))
    data = json.loads(json.dumps(stopped.to_data()))
    again.restore(data, stopped.weights or {})
    advance(again, range(stop, 12))
    assert again.to_data() == whole.to_data()
    assert (again.weights is None) == (whole.weights is None) == (kind == "none")
    if whole.weights is not None:
        assert all(torch.equal(again.weights[name], whole.weights[name]) for name in whole.weights)


def test_what_is_restored_is_a_copy() -> None:
    averages = started(steps(1)[0])
    again = make("nt-asgd", steps(1)[0])
    again.restore(averages.to_data(), averages.weights)
    again.update(steps(2)[1])
    assert torch.equal(averages.weights["a"], steps(1)[0]["a"])
    assert averages.to_data()["steps"] == 0
