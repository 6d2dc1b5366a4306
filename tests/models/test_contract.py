"""The table of contract checks: every registered model and every adapter goes through all of them.

A model joins by being registered in MODELS (it is fitted with its default settings, and with those
listed in VARIANTS), an adapter by being registered in ADAPTERS.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.adapters import ADAPTERS, Surroundings, adapt
from elman.counts.smoothing import SMOOTHERS
from elman.models import MODELS, model_class
from elman.models.contract import LanguageModel
from elman.runs.folder import read_run, write_run
from elman.state import select, tensors

SIZE, EOS = 9, 0
RANDOM = np.random.default_rng(5)
TEXT = RANDOM.integers(0, SIZE - 1, 400)  # the last word of the vocabulary never occurs
IDS = torch.from_numpy(RANDOM.integers(0, SIZE, (3, 12)))

VARIANTS = {
    "ngram": [
        *({"smoothing": name, "order": 3} for name in SMOOTHERS),
        *({"smoothing": name, "order": 4, "context": "stream"} for name in SMOOTHERS),
        {"order": 1},
        {"order": 2},
        {"order": 4, "cutoffs": (1, 1, 2, 3)},
        {"order": 3, "smoothing": "katz", "cutoffs": (1, 2)},
        {"order": 3, "smoothing": "stupid-backoff", "cutoffs": (1, 2)},
    ]
}
ADAPTER_SETTINGS = {
    "cache": ["cache:weight=0.3,window=4", "cache:weight=0.2,window=50,decay=0"],
    "mix": ["mix:run=other,weight=0.4"],
}


def fit(kind: str, settings: dict[str, object]) -> LanguageModel:
    cls = model_class(kind)
    return cls.fit(TEXT, cls.config_class(**settings), vocabulary_size=SIZE, eos_id=EOS)


def around() -> Surroundings:
    other = fit("ngram", {"order": 2, "smoothing": "witten-bell"})
    return Surroundings(lambda model: np.zeros(1), lambda path: other)


def name_of(kind: str, settings: dict[str, object]) -> str:
    return "-".join([kind, *(str(value) for value in settings.values())])


PLAIN: dict[str, Callable[[], LanguageModel]] = {
    name_of(kind, settings): lambda kind=kind, settings=settings: fit(kind, settings)
    for kind in MODELS
    for settings in [{}, *VARIANTS.get(kind, [])]
}
ADAPTED: dict[str, Callable[[], LanguageModel]] = {
    written: lambda written=written: adapt(fit("ngram", {"order": 3}), written, around())
    for name in ADAPTERS
    for written in ADAPTER_SETTINGS[name]
}


@pytest.fixture(params=[*PLAIN, *ADAPTED])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    return {**PLAIN, **ADAPTED}[request.param]()


def read_some(model: LanguageModel, tokens: int) -> object:
    return model.read(IDS[:, :tokens], model.start(3)) if tokens else model.start(3)


@pytest.mark.parametrize("tokens", [0, 1, 2, 5, 12])
def test_distributions_sum_to_one(model: LanguageModel, tokens: int) -> None:
    log_probs = model.predict(read_some(model, tokens))
    assert log_probs.shape == (3, SIZE)
    assert torch.allclose(log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64), atol=1e-9)


def test_score_equals_predict_and_read(model: LanguageModel) -> None:
    scored, end = model.score(IDS, model.start(3))
    state = model.start(3)
    for t in range(IDS.shape[1]):
        expected = model.predict(state).gather(1, IDS[:, t : t + 1])[:, 0]
        assert torch.allclose(scored[:, t], expected, atol=1e-12)
        state = model.read(IDS[:, t : t + 1], state)
    for one, other in zip(tensors(end), tensors(state), strict=True):
        assert torch.equal(one, other)


def test_two_halves_equal_the_whole(model: LanguageModel) -> None:
    whole, end = model.score(IDS, model.start(3))
    first, state = model.score(IDS[:, :5], model.start(3))
    second, last = model.score(IDS[:, 5:], state)
    assert torch.equal(torch.cat([first, second], dim=1), whole)
    for one, other in zip(tensors(end), tensors(last), strict=True):
        assert torch.equal(one, other)


def test_a_row_does_not_depend_on_its_batch(model: LanguageModel) -> None:
    together, _ = model.score(IDS, model.start(3))
    for row in range(3):
        alone, _ = model.score(IDS[row : row + 1], model.start(1))
        assert torch.equal(alone[0], together[row])


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
    for one, other in zip(tensors(end), tensors(last), strict=True):
        assert torch.equal(one, other)


def test_states_are_batch_first_and_selectable(model: LanguageModel) -> None:
    state = read_some(model, 5)
    assert all(len(tensor) == 3 for tensor in tensors(state))
    picked = model.predict(select(state, torch.tensor([2, 0, 2])))
    assert torch.equal(picked, model.predict(state)[[2, 0, 2]])


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
    assert torch.equal(short, full)


@pytest.mark.parametrize("name", PLAIN)
def test_save_and_load_give_identical_bits(name: str, tmp_path) -> None:
    model = PLAIN[name]()
    write_run(
        tmp_path / "run", {"weights.safetensors": model.arrays(), "facts.json": model.facts()}
    )
    kept = read_run(tmp_path / "run")
    again = type(model).restore(model.config, kept["weights.safetensors"], kept["facts.json"])
    assert torch.equal(again.score(IDS, again.start(3))[0], model.score(IDS, model.start(3))[0])
    assert torch.equal(again.predict(read_some(again, 5)), model.predict(read_some(model, 5)))
