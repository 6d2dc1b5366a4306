"""The contract: every registered model and every adapter goes through all of these checks.

The table of them is in `conftest.py`. What is counted must agree bit for bit however it is read;
products of matrices may differ in the last bits of double precision.
"""

import numpy as np
import pytest
import torch

from elman.models.causal import CausalModel
from elman.models.contract import LanguageModel
from elman.models.neural import NeuralModel
from elman.models.syntactical import Syntactical
from elman.runs.folder import read_run, write_run
from elman.state import select, tensors

SIZE = 9  # of the vocabulary
IDS = torch.from_numpy(np.random.default_rng(6).integers(0, SIZE, (3, 12)))


def parts_of(model: LanguageModel) -> list[LanguageModel]:
    """The model and those that it is made of."""
    return [model, *(part for inner in getattr(model, "models", []) for part in parts_of(inner))]


def same(model: LanguageModel, one: object, other: object) -> bool:
    """Whether two tensors or states agree: bit for bit, or up to rounding where a net is inside."""
    exact = not any(isinstance(part, NeuralModel | CausalModel) for part in parts_of(model))
    return all(
        torch.equal(first, second)
        if exact or not first.is_floating_point()
        else torch.allclose(first, second, rtol=1e-11, atol=1e-12)
        for first, second in zip(tensors(one), tensors(other), strict=True)
    )


def read_some(model: LanguageModel, tokens: int) -> object:
    return model.read(IDS[:, :tokens], model.start(3)) if tokens else model.start(3)


@pytest.mark.parametrize("tokens", [0, 1, 2, 5, 12])
def test_distributions_sum_to_one(model: LanguageModel, tokens: int) -> None:
    """To zero only where the model says that no distribution is defined."""
    state = read_some(model, tokens)
    log_probs = model.predict(state)
    assert log_probs.shape == (3, SIZE)
    undefined, _ = model.undefined(torch.zeros(3, 1, dtype=torch.int64), state)
    assert model.always_defined <= (not bool(undefined.any()))
    expected = (~undefined[:, 0]).double()
    assert torch.allclose(log_probs.exp().sum(1), expected, atol=1e-9)


@pytest.mark.parametrize("tokens", [0, 5])
def test_scores_are_log_probabilities_up_to_a_constant(model: LanguageModel, tokens: int) -> None:
    state = read_some(model, tokens)
    expected = model.predict(state)
    defined = ~expected.isneginf().all(1)
    found = model.scores(state)[defined].double().log_softmax(1)
    assert torch.allclose(found, expected[defined].double(), atol=1e-9)


def test_score_equals_predict_and_read(model: LanguageModel) -> None:
    scored, end = model.score(IDS, model.start(3))
    state = model.start(3)
    for t in range(IDS.shape[1]):
        expected = model.predict(state).gather(1, IDS[:, t : t + 1])[:, 0]
        assert torch.allclose(scored[:, t], expected, atol=1e-12)
        state = model.read(IDS[:, t : t + 1], state)
    assert same(model, end, state)


def test_two_halves_equal_the_whole(model: LanguageModel) -> None:
    whole, end = model.score(IDS, model.start(3))
    first, state = model.score(IDS[:, :5], model.start(3))
    second, last = model.score(IDS[:, 5:], state)
    assert same(model, torch.cat([first, second], dim=1), whole)
    assert same(model, end, last)


def test_reading_nothing_changes_nothing(model: LanguageModel) -> None:
    state = read_some(model, 5)
    scored, after_score = model.score(IDS[:, :0], state)
    everything, after_all = model.predict_all(IDS[:, :1], state)
    assert scored.shape == (3, 0)
    assert model.predict_all(IDS[:, :0], state)[0].shape == (3, 0, SIZE)
    assert torch.equal(everything[:, 0].exp(), model.predict(state).exp())
    for after in (after_score, model.read(IDS[:, :0], state)):
        assert all(map(torch.equal, tensors(after), tensors(state)))
    assert len(tensors(after_all)) == len(tensors(state))


def test_a_row_does_not_depend_on_its_batch(model: LanguageModel) -> None:
    together, _ = model.score(IDS, model.start(3))
    for row in range(3):
        alone, _ = model.score(IDS[row : row + 1], model.start(1))
        assert same(model, alone[0], together[row])


def test_the_future_does_not_change_the_past(model: LanguageModel) -> None:
    changed = IDS.clone()
    changed[:, 7:] = (changed[:, 7:] + 1) % SIZE
    before, _ = model.score(IDS, model.start(3))
    after, _ = model.score(changed, model.start(3))
    assert torch.equal(before[:, :7], after[:, :7])


def test_predict_all_is_predict_at_every_step(model: LanguageModel) -> None:
    everything, end = model.predict_all(IDS, model.start(3))
    slowly, last = LanguageModel.predict_all(model, IDS, model.start(3))
    assert torch.allclose(everything.exp(), slowly.exp(), atol=1e-12)
    assert same(model, end, last)


def test_the_mass_of_a_set_is_the_sum_over_it(model: LanguageModel) -> None:
    expected, last = model.score(IDS, model.start(3))
    everything, _ = model.predict_all(IDS, model.start(3))
    for members in ([0], [0, 2, 5], [1, 2, 3, 4, 5, 6, 7], []):
        chosen = torch.zeros(SIZE, dtype=torch.bool)
        chosen[members] = True
        scored, masses, end = model.score_and_mass(IDS, model.start(3), chosen)
        summed = everything.exp()[:, :, chosen].sum(2)
        assert torch.allclose(scored, expected, atol=1e-12), members
        assert torch.allclose(masses.exp(), summed, atol=1e-12), members
        assert same(model, end, last), members


def test_vectors_are_those_that_predictions_are_made_from(model: LanguageModel) -> None:
    if not model.has_vectors:
        pytest.skip("this model has no vectors")
    scored, vectors, end = model.score_and_vectors(IDS, model.start(3))
    expected, last = model.score(IDS, model.start(3))
    assert same(model, scored, expected)
    assert same(model, end, last)
    state = model.start(3)
    for t in range(IDS.shape[1]):
        expected = model.vector(state)
        assert same(model, vectors[:, t], expected)
        assert vectors.shape == (3, 12, expected.shape[1])
        state = model.read(IDS[:, t : t + 1], state)


def test_states_are_batch_first_and_selectable(model: LanguageModel) -> None:
    state = read_some(model, 5)
    assert all(len(tensor) == 3 for tensor in tensors(state))
    picked = model.predict(select(state, torch.tensor([2, 0, 2])))
    assert same(model, picked, model.predict(state)[[2, 0, 2]])


def test_reading_leaves_the_state_as_it_was(model: LanguageModel) -> None:
    state = read_some(model, 4)
    before = [tensor.clone() for tensor in tensors(state)]
    model.score(IDS, state)
    model.read(IDS, state)
    assert all(map(torch.equal, before, tensors(state)))


def test_nothing_beyond_the_horizon_matters(model: LanguageModel) -> None:
    if model.horizon is None:
        pytest.skip("this model remembers everything")
    long = torch.from_numpy(np.random.default_rng(1).integers(0, SIZE, (1, model.horizon + 30)))
    short = model.predict(model.read(long[:, 30:], model.start(1)))
    full = model.predict(model.read(long, model.start(1)))
    assert same(model, short, full)


def test_every_word_within_the_horizon_matters(model: LanguageModel) -> None:
    """Else a model could keep the contract by not listening."""
    if not isinstance(model, NeuralModel):
        pytest.skip("what a count model has not seen twice makes no difference to it")
    if isinstance(model, Syntactical):
        pytest.skip("arrows decide which far words it sees; neural/test_syntactical.py looks at it")
    plain = IDS.clamp(min=1, max=SIZE - 2)  # no line ends within
    changed = plain.clone()
    far = IDS.shape[1] - min(model.horizon or 4, 6)
    changed[:, far] += 1
    before, after = (model.predict(model.read(ids, model.start(3))) for ids in (plain, changed))
    assert (before - after).abs().amax(1).min() > 1e-6


def test_save_and_load_give_identical_bits(trained_model: LanguageModel, tmp_path) -> None:
    model = trained_model
    write_run(
        tmp_path / "run", {"weights.safetensors": model.arrays(), "facts.json": model.facts()}
    )
    kept = read_run(tmp_path / "run")
    again = type(model).restore(model.config, kept["weights.safetensors"], kept["facts.json"])
    with torch.no_grad():
        assert torch.equal(again.score(IDS, again.start(3))[0], model.score(IDS, model.start(3))[0])
        assert torch.equal(again.predict(read_some(again, 5)), model.predict(read_some(model, 5)))
    kept_again = again.arrays()
    assert all(np.array_equal(array, kept_again[name]) for name, array in model.arrays().items())
    assert again.facts() == model.facts()
