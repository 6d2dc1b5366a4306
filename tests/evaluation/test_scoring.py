"""Log probabilities of a text do not depend on batch size and window."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elman.adapters import FitContext, adapt
from elman.counts.estimate import NgramConfig
from elman.errors import InputError
from elman.evaluation import scoring
from elman.evaluation.measures import Reading
from elman.evaluation.scoring import cut_lines, cut_stream, score_ids
from elman.models.contract import LanguageModel
from elman.models.ngram import NGram
from elman.models.recurrent import RecurrentConfig, RecurrentModel

SIZE, EOS = 7, 0
IDS = np.random.default_rng(3).integers(0, SIZE, 400)


def ngram(context: str, order: int = 4) -> NGram:
    config = NgramConfig(order=order, context=context, smoothing="witten-bell")
    return NGram.fit(IDS[::-1].copy(), config, vocabulary_size=SIZE, eos_id=EOS)


def adapted(written: str, context: str) -> LanguageModel:
    around = FitContext(lambda model: np.zeros(1), lambda path: ngram("stream", order=2))
    return adapt(ngram(context), [written], around)


def network() -> LanguageModel:
    torch.manual_seed(1)
    config = RecurrentConfig(hidden_size=6, embedding_size=6)
    tokens = [str(number) for number in range(SIZE)]
    return RecurrentModel.build(config, IDS, tokens, EOS).double().eval()


MODELS = {
    "network": network,
    "line": lambda: ngram("line"),
    "stream": lambda: ngram("stream"),
    "unigram": lambda: ngram("line", order=1),
    "short cache": lambda: adapted("cache:weight=0.3,window=5", "line"),
    "long cache": lambda: adapted("cache:weight=0.3,window=50,decay=0", "stream"),
    "mixture": lambda: adapted("mix:run=other,weight=0.4", "line"),
}


@torch.no_grad()
def one_by_one(model: LanguageModel, ids: np.ndarray, reset: str) -> list[float]:
    """The definition: predict, look up, read, one token after the other."""
    log_probs = []
    state = model.start(1)
    for number in ids.tolist():
        log_probs.append(float(model.predict(state)[0, number]))
        state = model.read(torch.tensor([[number]]), state)
        if reset == "line" and number == EOS:
            state = model.start(1)
    return log_probs


class Remembers(LanguageModel):
    """p(0) falls with every token read, so its stream must not be cut."""

    vocabulary_size = 2

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []

    def start(self, batch_size: int, source: Any = None) -> torch.Tensor:
        self.batch_sizes.append(batch_size)
        return torch.zeros(batch_size, 1, dtype=torch.float64)

    def predict(self, state: Any) -> torch.Tensor:
        zero = 1 / (2 + state)  # (B, 1)
        return torch.cat([zero, 1 - zero], dim=1).log()

    def read(self, ids: torch.Tensor, state: Any) -> torch.Tensor:
        return state + ids.sum(1, keepdim=True)

    def score(self, ids: torch.Tensor, state: Any) -> tuple[torch.Tensor, torch.Tensor]:
        distributions, state = self.predict_all(ids, state)
        return distributions.gather(2, ids[:, :, None])[:, :, 0], state


@pytest.mark.parametrize("reset", ["stream", "line"])
@pytest.mark.parametrize("name", MODELS)
def test_cutting_never_changes_a_number(name: str, reset: str) -> None:
    model = MODELS[name]()
    expected = one_by_one(model, IDS, reset)
    for batch_size in (1, 3, 16):
        for window in (1, 7, 35, len(IDS), None):
            reading = Reading(reset, batch_size, window)
            scores = score_ids(model, IDS, eos_id=EOS, reading=reading)
            np.testing.assert_allclose(scores, expected, rtol=1e-9)


@pytest.mark.parametrize("reset", ["stream", "line"])
@pytest.mark.parametrize("name", ["line", "stream", "unigram"])
def test_counts_give_the_same_bits(name: str, reset: str) -> None:
    model = MODELS[name]()
    whole = score_ids(model, IDS, eos_id=EOS, reading=Reading(reset))
    for batch_size in (1, 3, 16):
        for window in (1, 7, 35, len(IDS), None):
            reading = Reading(reset, batch_size, window)
            scores = score_ids(model, IDS, eos_id=EOS, reading=reading)
            np.testing.assert_array_equal(scores, whole)


def test_the_resets_differ_where_the_model_looks_past_line_ends() -> None:
    model = MODELS["stream"]()
    stream = score_ids(model, IDS, eos_id=EOS, reading=Reading("stream"))
    line = score_ids(model, IDS, eos_id=EOS, reading=Reading("line"))
    assert np.abs(stream - line).max() > 0.01


def test_a_model_without_a_horizon_is_never_cut() -> None:
    model = Remembers()
    ids = IDS % 2
    expected = one_by_one(model, ids, "stream")
    model.batch_sizes.clear()
    scores = score_ids(model, ids, eos_id=5, reading=Reading(batch_size=16, window=7))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert model.batch_sizes == [1]


def test_a_horizon_that_lies_is_seen() -> None:
    liar = copy.copy(MODELS["stream"]())
    liar.horizon = 1  # in truth it looks three tokens back
    right = score_ids(liar, IDS, eos_id=EOS, reading=Reading(batch_size=1))
    wrong = score_ids(liar, IDS, eos_id=EOS, reading=Reading(batch_size=3))
    # Rows of 134 tokens: the first two of the second and third row lack some of their context.
    places = np.flatnonzero(right != wrong).tolist()
    assert places
    assert set(places) <= {134, 135, 268, 269}


def test_without_the_warm_up_the_rows_begin_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["long cache"]()
    right = score_ids(model, IDS, eos_id=EOS, reading=Reading(batch_size=3))
    monkeypatch.setattr(scoring, "_state_before", lambda model, ids, rows: model.start(len(rows)))
    wrong = score_ids(model, IDS, eos_id=EOS, reading=Reading(batch_size=3))
    np.testing.assert_allclose(wrong[:134], right[:134], rtol=1e-12)
    assert abs(wrong.sum() - right.sum()) > 0.01


def test_an_empty_text_has_no_scores() -> None:
    nothing = np.empty(0, dtype=np.int64)
    for reset in ("stream", "line"):
        assert len(score_ids(MODELS["line"](), nothing, eos_id=EOS, reading=Reading(reset))) == 0


def test_progress_reaches_the_end() -> None:
    seen: list[int] = []

    def progress(tokens: int, of: int) -> None:
        seen.append(tokens)
        assert of == len(IDS)

    score_ids(MODELS["line"](), IDS, eos_id=EOS, reading=Reading(window=35), progress=progress)
    assert sum(seen) == len(IDS)
    assert len(seen) == 12  # 400 tokens, 35 at a time
    seen.clear()
    lines = Reading("line", batch_size=7)  # side by side, filled up to the longest
    score_ids(MODELS["line"](), IDS, eos_id=EOS, reading=lines, progress=progress)
    assert sum(seen) == len(IDS)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"window": 0}, {"window": -1}])
def test_impossible_sizes_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least 1"):
        Reading(**wrong)


@given(st.lists(st.integers(0, 2), max_size=40))
def test_lines_cover_every_token_once(ids: list[int]) -> None:
    rows = cut_lines(np.array(ids, dtype=np.int64), eos_id=0)
    assert [place for row in rows for place in range(row.first, row.last)] == list(range(len(ids)))
    for row in rows:
        assert row.first < row.last
        assert 0 not in ids[row.first : row.last - 1]
        assert ids[row.last - 1] == 0 or row.last == len(ids)


@given(st.integers(0, 200), st.none() | st.integers(1, 30), st.integers(1, 20))
def test_streams_cover_every_token_once(length: int, horizon: int | None, batch: int) -> None:
    rows = cut_stream(length, horizon, batch)
    assert [place for row in rows for place in range(row.first, row.last)] == list(range(length))
    assert len(rows) <= batch
    if horizon is None:
        assert len(rows) <= 1
    for row in rows:
        assert row.warm_up == (horizon if row.first else 0)
        assert row.warm_up <= row.first


def test_lines_leave_the_batch_at_their_end() -> None:
    """No token is padding if lines end where windows do."""
    model, seen = Remembers(), 0
    lengths = [1, 4, 4, 9, 16]
    ids = np.concatenate([[*[1] * (length - 1), EOS] for length in lengths])

    def measure(batch: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        nonlocal seen
        seen += batch.numel()
        return model.score(batch, state)

    reading = Reading("line", batch_size=8)
    found = scoring.each_token(model, ids, measure, EOS, reading, lambda done, of: None)
    np.testing.assert_allclose(found, one_by_one(model, ids, "line"))
    assert seen == sum({*lengths})  # equal lines once


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(1, 50))
def test_windows_cover_every_row_with_little_padding(lengths: list[int], window: int) -> None:
    cuts = scoring._cuts(np.array(lengths), window)
    assert cuts[0] == 0
    assert cuts[-1] == max(lengths)
    steps = np.diff(cuts)
    assert (steps >= 1).all()
    assert (steps <= window).all()
    ends = np.array(cuts)[np.searchsorted(cuts, lengths)]
    assert (ends - np.array(lengths) < max(max(lengths) // 16, 1)).all()
