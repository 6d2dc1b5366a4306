"""The model's own words inside a window, and the two regimes that read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from elman.errors import InputError
from elman.state import detach, tensors
from elman.training.regimes import make_regime
from elman.training.regimes.own_words import (
    ScheduledSampling,
    ScheduledSamplingOptions,
    draw,
    own_words,
    searched_words,
    toss,
)


def same(first: Any, second: Any) -> bool:
    (loss, gradients, after), (other_loss, other_gradients, other_after) = first, second
    return (
        torch.equal(loss.nats, other_loss.nats)
        and all(map(torch.equal, gradients, other_gradients))
        and all(map(torch.equal, tensors(after), tensors(other_after)))
    )


def test_own_words_are_the_models_samples(make_model: Any, make_batch: Any) -> None:
    """Word by word with the contract's own methods, from the same random numbers."""
    model, inputs = make_model(), make_batch().inputs
    carried = model.begin(4)
    torch.manual_seed(3)
    mixed = own_words(model, inputs, carried, toss(1.0, inputs))
    torch.manual_seed(3)
    expected = inputs[:, :1]
    with torch.no_grad():
        _, state = model.advance(expected, carried)
        while expected.shape[1] < inputs.shape[1]:
            drawn = torch.multinomial(model.predict(state).exp(), 1)
            expected = torch.cat([expected, drawn], 1)
            state = model.read(drawn, state)
    assert torch.equal(mixed, expected)
    assert not torch.equal(mixed, inputs)


def test_draws_are_as_frequent_as_they_are_likely() -> None:
    torch.manual_seed(0)
    log_probs = torch.tensor([0.7, 0.3, 0.0]).log().expand(20_000, 3)
    assert draw(log_probs).bincount(minlength=3).div(20_000).tolist() == pytest.approx(
        [0.7, 0.3, 0.0], abs=0.01
    )


def test_draws_of_the_best_words_only() -> None:
    """Of 0.5, 0.3 and 0.2, the best two are drawn with 5/8 and 3/8; the best one always."""
    torch.manual_seed(0)
    log_probs = torch.tensor([0.2, 0.5, 0.3]).log().expand(20_000, 3)
    shares = draw(log_probs, top_k=2).bincount(minlength=3).div(20_000).tolist()
    assert shares == pytest.approx([0.0, 0.625, 0.375], abs=0.01)
    assert draw(log_probs, top_k=1).unique().tolist() == [1]
    assert draw(log_probs, top_k=9).bincount(minlength=3).div(20_000).tolist() == pytest.approx(
        [0.2, 0.5, 0.3], abs=0.01
    )


@pytest.mark.parametrize("regime", ["free-running", "scheduled-sampling"])
def test_regimes_draw_by_the_decoding_scheme(regime: str, model: Any, batch: Any) -> None:
    """With the best word only, nothing is random but the choice between true and own words."""
    model.eval()  # without dropout
    certain = {"initial": 0.0, "final": 0.0} if regime == "scheduled-sampling" else {}
    losses = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        made = make_regime(regime, {"top_k": 1, **certain}, model)
        losses.append(made.loss(model, batch, None, 1.0)[0].nats)
    assert torch.equal(losses[0], losses[1])
    drawn = make_regime(regime, certain, model).loss(model, batch, None, 1.0)[0].nats
    assert not torch.equal(drawn, losses[0])


def test_a_negative_number_of_best_words_is_refused() -> None:
    with pytest.raises(InputError, match="top_k=-1"):
        ScheduledSamplingOptions(top_k=-1)


def test_own_words_are_among_the_best_given_the_words_before(
    make_model: Any, make_batch: Any
) -> None:
    """Each of two draws at random is one of the two best words after the own history."""
    model, inputs = make_model(), make_batch().inputs
    torch.manual_seed(3)
    mixed = own_words(model, inputs, model.begin(4), toss(1.0, inputs), top_k=2)
    ranks = []
    with torch.no_grad():
        _, state = model.advance(mixed[:, :1], model.begin(4))
        for word in mixed[:, 1:].unbind(1):
            order = model.predict(state).argsort(1, descending=True)
            ranks += (order == word[:, None]).int().argmax(1).tolist()
            state = model.read(word[:, None], state)
    assert set(ranks) == {0, 1}


def searched(model: Any, batch: Any, own: Any, beam: int) -> list[list[int]]:
    """A beam search in plain Python, row by row, from the contract's own methods."""
    found = []
    for row, true in enumerate(batch.inputs.tolist()):
        length = len(true) if batch.lengths is None else int(batch.lengths[row])
        _, state = model.advance(torch.tensor([true[:1]]), model.begin(1))
        histories = [(0.0, true[:1], state)]
        for t in range(1, len(true)):
            free = bool(own[row, t]) and t < length
            longer = []
            for score, words, state in histories:
                log_probs = model.predict(state)[0]
                for word in range(len(log_probs)) if free else [true[t]]:
                    if free and model.resets_at_lines and word == model.eos_id:
                        continue
                    more = float(log_probs[word]) if free else 0.0
                    longer.append((score + more, [*words, word], state))
            best = sorted(longer, key=lambda one: -one[0])[:beam]
            histories = [(s, w, model.read(torch.tensor([w[-1:]]), state)) for s, w, state in best]
        found.append(histories[0][1])
    return found


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("beam", [1, 3, 20])
def test_a_beam_by_hand(
    make_model: Any, make_batch: Any, context: str, beam: int, share: float
) -> None:
    """A beam of 20 histories is wider than the vocabulary."""
    model, batch = make_model(context), make_batch(context)
    torch.manual_seed(2)
    own = toss(share, batch.inputs)
    with torch.no_grad():
        expected = searched(model, batch, own, beam)
    assert searched_words(model, batch, model.begin(4), own, beam).tolist() == expected


def test_a_beam_does_not_end_a_line(make_model: Any, make_batch: Any) -> None:
    """Even if the end is by far the most probable word."""
    model, batch = make_model("line"), make_batch("line")
    with torch.no_grad():
        model.output.bias[model.eos_id] = 50.0
        own = toss(1.0, batch.inputs)
        expected = searched(model, batch, own, 3)
    found = searched_words(model, batch, model.begin(4), own, 3)
    assert found.tolist() == expected
    assert not (found[0, 1:] == model.eos_id).any()  # the longest row has no padding


def test_a_beam_finds_histories_that_greedy_misses(make_model: Any, make_batch: Any) -> None:
    model, batch = make_model(), make_batch()

    def log_prob(words: Any) -> torch.Tensor:
        with torch.no_grad():
            _, state = model.advance(words[:, :1], model.begin(4))
            return model.score(words[:, 1:], state)[0].sum(1)

    own, start = toss(1.0, batch.inputs), model.begin(4)
    greedy = own_words(model, batch.inputs, start, own, top_k=1)
    wide = searched_words(model, batch, start, own, 8)
    assert torch.equal(searched_words(model, batch, start, own, 1), greedy)
    assert (log_prob(wide) >= log_prob(greedy)).all()
    assert (log_prob(wide) > log_prob(greedy)).any()


@pytest.mark.parametrize("regime", ["free-running", "scheduled-sampling"])
def test_regimes_read_the_words_of_a_beam(
    regime: str, make_model: Any, make_batch: Any, context: str
) -> None:
    """The loss is that of the true words after the words of the search."""
    model, batch = make_model(context).eval(), make_batch(context)
    certain = {"initial": 0.0, "final": 0.0} if regime == "scheduled-sampling" else {}
    found = make_regime(regime, {"beam": 3, **certain}, model).loss(model, batch, None, 1.0)[0]
    words = searched_words(model, batch, model.begin(4), toss(1.0, batch.inputs), 3)
    expected = model.loss(replace(batch, inputs=words), None)[0]
    assert torch.equal(found.nats, expected.nats)
    drawn = make_regime(regime, {"top_k": 1, **certain}, model).loss(model, batch, None, 1.0)[0]
    assert not torch.equal(drawn.nats, found.nats)


def test_searching_drops_nothing_and_leaves_the_model_in_training(
    make_model: Any, batch: Any
) -> None:
    found = []
    for rate in (0.0, 0.9):
        model = make_model(dropout_output=rate).train()
        own = toss(1.0, batch.inputs)
        found.append(searched_words(model, batch, model.begin(4), own, 3))
        assert model.training
    assert torch.equal(*found)


def test_a_beam_and_draws_exclude_each_other() -> None:
    with pytest.raises(InputError, match=r"regime_options\.beam=2: .*leave out top_k or beam"):
        ScheduledSamplingOptions(top_k=2, beam=2)
    with pytest.raises(InputError, match="beam=-1"):
        ScheduledSamplingOptions(beam=-1)


def test_a_true_word_stays_where_it_should(model: Any, batch: Any) -> None:
    own = torch.zeros_like(batch.inputs, dtype=torch.bool)
    own[:, 3] = True
    mixed = own_words(model, batch.inputs, model.begin(4), own)
    others = torch.arange(batch.inputs.shape[1]) != 3
    assert torch.equal(mixed[:, others], batch.inputs[:, others])


def test_a_line_does_not_end_early(make_model: Any, make_batch: Any) -> None:
    model, batch = make_model("line"), make_batch("line")
    with torch.no_grad():
        model.output.bias[model.eos_id] = 50.0  # all that it ever says
    mixed = own_words(model, batch.inputs, model.begin(4), toss(1.0, batch.inputs))
    assert torch.equal(mixed, batch.inputs)


def test_drawing_drops_nothing_and_leaves_the_model_in_training(
    make_model: Any, batch: Any
) -> None:
    drawn = []
    for rate in (0.0, 0.9):
        model = make_model(dropout_output=rate).train()
        torch.manual_seed(2)
        drawn.append(own_words(model, batch.inputs, model.begin(4), toss(1.0, batch.inputs)))
        assert model.training
    assert torch.equal(*drawn)


def test_free_running_reads_own_words_and_asks_for_the_true_ones(
    make_model: Any, make_batch: Any, context: str, step: Any
) -> None:
    model, batch = make_model(context), make_batch(context)
    loss, _, _ = step(make_regime("free-running", {}, model), model, batch)
    torch.manual_seed(11)
    mixed = own_words(model, batch.inputs, model.begin(4), toss(1.0, batch.inputs))
    expected = 0.0
    for row, length in enumerate([8] * 4 if batch.lengths is None else batch.lengths.tolist()):
        evidence, _ = model.advance(mixed[row : row + 1, :length], model.begin(1))
        log_probs = model.output.log_probs((evidence[0][0],), model.input.weight)
        expected -= log_probs[range(length), batch.targets[row, :length]].sum().item()
    assert loss.nats.item() == pytest.approx(expected, rel=1e-5)
    assert loss.tokens == batch.tokens


def test_a_stream_goes_on_from_the_true_text(make_model: Any, make_batch: Any, step: Any) -> None:
    model, batch = make_model(), make_batch()
    for regime in ("free-running", "scheduled-sampling", "professor-forcing", "minimum-risk"):
        own = step(make_regime(regime, {}, model), model, batch)[2]
        true = step(make_regime("teacher-forcing", {}, model), model, batch)[2]
        for first, second in zip(tensors(own), tensors(true), strict=True):
            torch.testing.assert_close(first, second)
            assert not first.requires_grad


def test_own_words_follow_what_is_carried(make_model: Any, make_batch: Any, step: Any) -> None:
    model, batch = make_model(), make_batch()
    _, (_, carried) = model.advance(torch.full((4, 5), 7), model.begin(4))
    carried = detach(carried)
    regime = make_regime("free-running", {}, model)
    assert step(regime, model, batch)[0].nats != step(regime, model, batch, carried=carried)[0].nats


@pytest.mark.parametrize("schedule", ["linear", "exponential", "inverse-sigmoid"])
def test_scheduled_sampling_with_certain_truth_is_teacher_forcing(
    model: Any, batch: Any, step: Any, schedule: str
) -> None:
    regime = make_regime("scheduled-sampling", {"final": 1.0, "schedule": schedule}, model)
    forced = make_regime("teacher-forcing", {}, model)
    assert same(step(regime, model, batch), step(forced, model, batch))


def test_scheduled_sampling_without_truth_is_free_running(
    model: Any, batch: Any, step: Any
) -> None:
    regime = make_regime("scheduled-sampling", {"final": 0.0}, model)
    free = make_regime("free-running", {}, model)
    assert same(step(regime, model, batch), step(free, model, batch))
    assert not same(step(regime, model, batch, progress=0.0), step(free, model, batch))


def test_the_coin() -> None:
    torch.manual_seed(0)
    like = torch.zeros(200, 100, dtype=torch.int64)
    assert toss(0.3, like).float().mean() == pytest.approx(0.3, abs=0.01)
    state = torch.get_rng_state()
    assert not toss(0.0, like).any()
    assert toss(1.0, like).all()
    assert torch.equal(torch.get_rng_state(), state)  # what is certain is not tossed


def test_as_many_true_words_as_the_schedule_says(make_model: Any) -> None:
    """One word is as likely as another to the model, so a ninth of its draws are true as well."""
    model = make_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    inputs = torch.full((40, 50), 4)
    torch.manual_seed(1)
    mixed = own_words(model, inputs, model.begin(40), toss(0.6, inputs))
    expected = 0.4 + 0.6 / 9
    assert (mixed[:, 1:] == 4).float().mean() == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("options", "values"),
    [  # at 0, 1/2 and 1
        ({"schedule": "linear", "final": 0.2}, [1.0, 0.6, 0.2]),
        ({"schedule": "linear", "initial": 0.5, "final": 0.1}, [0.5, 0.3, 0.1]),
        ({"schedule": "exponential", "final": 0.25}, [1.0, 0.5, 0.25]),
        # k = 4, (4 · 0.8 / 0.2) = 16: 4/5, 4/(4 + 16^½) = 1/2, 4/20
        ({"schedule": "inverse-sigmoid", "final": 0.2, "steepness": 4.0}, [0.8, 0.5, 0.2]),
    ],
    ids=str,
)
def test_schedules_by_hand(options: dict[str, Any], values: list[float]) -> None:
    regime = ScheduledSampling(ScheduledSamplingOptions(**options), None)
    assert [regime.probability(x) for x in (0.0, 0.5, 1.0)] == pytest.approx(values)
