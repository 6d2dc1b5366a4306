"""Learning-rate schedules: the rates of the papers at every epoch, and after a restart."""

import json

import pytest

from elman.training.schedules import SCHEDULES, Schedule
from elman.training.settings import TrainingConfig

ZAREMBA = {  # epochs, held for, divided by: REFERENCE D4
    "small": (13, 4, 2.0),
    "medium": (39, 6, 1.2),
    "large": (55, 14, 1.15),
}
PERPLEXITIES = [5.0, 4.8, 4.7, 4.69, 4.65, 4.64, 4.64, 4.65]  # nats, and so on


def make(name: str, **settings) -> Schedule:
    return SCHEDULES[name](TrainingConfig(schedule=name, **settings))


# --- From epochs alone


@pytest.mark.parametrize("size", ZAREMBA)
def test_zarembas_table(size: str) -> None:
    epochs, held, divided = ZAREMBA[size]
    schedule = make("decay", epochs=epochs, hold=held, decay=divided)
    expected = 1.0
    for epoch in range(epochs):
        if epoch >= held:
            expected /= divided
        for part in (0.0, 0.5, 0.999):  # the same throughout an epoch
            assert schedule.factor(epoch + part) == pytest.approx(expected, rel=1e-12)
    assert schedule.factor(held - 0.001) == 1


def test_zarembas_small_net_ends_with_a_512th() -> None:
    schedule = make("decay", epochs=13, hold=4, decay=2)
    assert [schedule.factor(epoch) for epoch in (0, 3, 4, 5, 12)] == [1, 1, 1 / 2, 1 / 4, 2**-9]


def test_a_constant_rate() -> None:
    assert {make("constant").factor(epoch) for epoch in (0, 3.5, 10)} == {1.0}


def test_straight_down() -> None:
    schedule = make("linear", epochs=10, hold=0.5)
    found = [schedule.factor(epoch) for epoch in (0, 4.9, 5, 7.5, 9, 10, 11)]
    assert found == pytest.approx([1, 1, 1, 0.5, 0.2, 0, 0])
    assert make("linear", epochs=10).factor(0) == 1
    assert make("linear", epochs=10).factor(2) == pytest.approx(0.8)
    assert make("linear", epochs=10, hold=1).factor(10) == 1


def test_half_a_cosine() -> None:
    schedule = make("cosine", epochs=4)
    found = [schedule.factor(epoch) for epoch in (0, 1, 2, 3, 4, 5)]
    assert found == pytest.approx([1, 0.5 + 2**-1.5, 0.5, 0.5 - 2**-1.5, 0, 0])


def test_one_cycle() -> None:
    schedule = make("one-cycle", epochs=10)
    found = [schedule.factor(epoch) for epoch in (0, 1.5, 3, 6.5, 10, 11)]
    assert found == pytest.approx([1 / 25, (1 + 1 / 25) / 2, 1, 0.5, 1e-4, 1e-4])
    rising = [schedule.factor(epoch / 10) for epoch in range(31)]
    falling = [schedule.factor(3 + epoch / 10) for epoch in range(71)]
    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)


def test_slanted_triangle() -> None:
    schedule = make("slanted", epochs=10)
    assert schedule.factor(0) == schedule.factor(10) == 1 / 32
    assert schedule.factor(1) == 1
    assert schedule.factor(0.5) == pytest.approx((1 + 1 / 32) / 2)
    assert schedule.factor(5.5) == pytest.approx((1 + 1 / 32) / 2)


@pytest.mark.parametrize("name", SCHEDULES)
def test_warming_up(name: str) -> None:
    schedule = make(name, epochs=20, hold=0.5, warm_up=0.1)
    assert schedule.warmed_factor(0) == 0
    assert schedule.warmed_factor(0.5) == pytest.approx(0.25 * schedule.factor(0.5))
    for epoch in (2, 2.5, 13, 20):
        assert schedule.warmed_factor(epoch) == schedule.factor(epoch)


@pytest.mark.parametrize("name", SCHEDULES)
def test_without_warming_up_it_is_the_factor(name: str) -> None:
    schedule = make(name, epochs=20, hold=0.5)
    for epoch in (0, 0.1, 7, 20):
        assert schedule.warmed_factor(epoch) == schedule.factor(epoch)


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_factor_is_negative_or_above_one(name: str) -> None:
    schedule = make(name, epochs=7.3, hold=0.4)
    assert all(0 <= schedule.factor(step / 50) <= 1 for step in range(420))


# --- From validations


def test_down_when_validation_does_not_improve() -> None:
    schedule = make("plateau", decay=4)
    found = []
    for nats in (5.0, 4.9, 4.9, 4.95, 4.8, 4.85):
        schedule.observe(nats)
        found.append(schedule.factor(1))
    assert found == [1, 1, 1 / 4, 1 / 16, 1 / 16, 1 / 64]
    assert not schedule.finished


def test_a_patient_plateau_forgives() -> None:
    schedule = make("plateau", decay=2, schedule_patience=2)
    found = []
    for nats in (5.0, 5.1, 5.1, 5.1, 5.1, 5.1, 4.9, 5.0, 5.0, 5.0):
        schedule.observe(nats)
        found.append(schedule.factor(1))
    assert found == [1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25]


def test_mikolovs_rule() -> None:
    """Full rate until a gain below 0.3 %, then halved every epoch, the end at the next such."""
    schedule = make("halving")
    seen = []
    for nats in (6.0, 5.5, 5.49, 5.4, 5.3, 5.29):
        schedule.observe(nats)
        seen.append((schedule.factor(1), schedule.finished))
    assert [factor for factor, _ in seen[:5]] == [1, 1, 1 / 2, 1 / 4, 1 / 8]
    assert [finished for _, finished in seen] == [False] * 5 + [True]


@pytest.mark.parametrize(("gain", "enough"), [(0.0029, False), (0.0031, True), (-0.1, False)])
def test_mikolovs_least_gain(gain: float, enough: bool) -> None:
    schedule = make("halving")
    schedule.observe(5.0)
    schedule.observe(5.0 * (1 - gain))
    assert schedule.factor(1) == (1 if enough else 0.5)
    assert not schedule.finished
    schedule.observe(2.0)
    assert not schedule.finished  # it gains again
    schedule.observe(2.0)
    assert schedule.finished == (not enough)


def test_the_gain_is_over_the_best() -> None:
    schedule = make("halving")
    for nats in (5.0, 6.0, 5.5):  # a gain on the last, but not on the best
        schedule.observe(nats)
    assert schedule.finished


@pytest.mark.parametrize("name", ["constant", "decay", "linear", "cosine", "one-cycle", "slanted"])
def test_others_do_not_look(name: str) -> None:
    schedule = make(name, epochs=4, hold=0.5)
    before = schedule.factor(1)
    for nats in PERPLEXITIES:
        schedule.observe(nats)
    assert schedule.factor(1) == before
    assert not schedule.finished


# --- Restarts


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("seen", range(len(PERPLEXITIES)))
def test_a_schedule_goes_on_after_a_restart(name: str, seen: int) -> None:
    schedule = make(name, epochs=8, hold=0.5, schedule_patience=1)
    for nats in PERPLEXITIES[:seen]:
        schedule.observe(nats)
    data = json.loads(json.dumps(schedule.to_data(), allow_nan=False))  # as a run folder keeps it
    again = make(name, epochs=8, hold=0.5, schedule_patience=1)
    again.restore(data)
    for epoch, nats in enumerate(PERPLEXITIES[seen:], seen):
        assert again.factor(epoch) == schedule.factor(epoch)
        assert again.finished == schedule.finished
        schedule.observe(nats)
        again.observe(nats)
    assert again.to_data() == schedule.to_data()
    assert again.config.schedule == name


def test_the_first_epoch_is_never_divided() -> None:
    schedule = make("decay", epochs=5, hold=0, decay=2)
    assert [schedule.factor(epoch) for epoch in (0, 0.9, 1, 2)] == [1, 1, 0.5, 0.25]
