"""Common beginnings of lines are scored once, with unchanged results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from elman.adapters import FitContext, adapt
from elman.adapters.mixture import Mixture
from elman.counts.estimate import NgramConfig
from elman.evaluation.measures import Reading
from elman.evaluation.prefix_tree import KnownScores, score_lines
from elman.evaluation.scoring import score_ids
from elman.models.contract import LanguageModel
from elman.models.ngram import NGram
from elman.models.recurrent import RecurrentConfig, RecurrentModel

SIZE, EOS = 7, 0
RANDOM = np.random.default_rng(5)
# Short lines of few ids: many begin alike, some are the same, some are empty.
LINES = [[*RANDOM.integers(1, 4, RANDOM.integers(0, 7)).tolist(), EOS] for _ in range(300)]
IDS = np.array([number for line in LINES for number in line])


def ngram(context: str) -> NGram:
    config = NgramConfig(order=4, context=context, smoothing="witten-bell")
    return NGram.fit(IDS[::-1].copy(), config, vocabulary_size=SIZE, eos_id=EOS)


def cached() -> LanguageModel:
    around = FitContext(lambda model: np.zeros(1), lambda path: ngram("stream"))
    return adapt(ngram("stream"), ["cache:weight=0.3,window=5"], around)


def network() -> RecurrentModel:
    torch.manual_seed(1)
    config = RecurrentConfig(hidden_size=8, embedding_size=8)
    tokens = [str(number) for number in range(SIZE)]
    return RecurrentModel.build(config, IDS, tokens, EOS).eval()


MODELS: dict[str, Callable[[], LanguageModel]] = {
    "line": lambda: ngram("line"),
    "stream": lambda: ngram("stream"),
    "cache": cached,
    "network": network,
}


@pytest.mark.parametrize("batch_size", [None, 1, 7, 64])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_as_line_by_line(name: str, batch_size: int | None) -> None:
    model = MODELS[name]()
    expected = score_ids(model, IDS, eos_id=EOS, reading=Reading("line"))
    found = score_lines(model, IDS, eos_id=EOS, batch_size=batch_size)
    assert found == pytest.approx(expected, abs=1e-5)


def test_what_lines_share_is_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = []

    def counting(self: NGram, ids: torch.Tensor, state: Any) -> Any:
        scored.append(ids.numel())
        return original(self, ids, state)

    original = NGram.score
    monkeypatch.setattr(NGram, "score", counting)
    score_lines(ngram("line"), IDS, eos_id=EOS)
    beginnings = {tuple(line[:end]) for line in LINES for end in range(1, len(line) + 1)}
    assert sum(scored) == len(beginnings) < len(IDS) / 2


def test_progress_reaches_its_end() -> None:
    told: list[tuple[int, int]] = []
    score_lines(ngram("line"), IDS, eos_id=EOS, batch_size=9, progress=lambda *by: told.append(by))
    assert {of for _, of in told} == {sum(done for done, _ in told)}


def test_nothing() -> None:
    assert len(score_lines(ngram("line"), IDS[:0], eos_id=EOS)) == 0


def test_a_mixture_is_scored_part_by_part_and_each_part_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, other = ngram("line"), network()
    mixture = Mixture([other, counts], [0.75, 0.25])
    expected = score_ids(mixture, IDS, eos_id=EOS, reading=Reading("line"))
    known = KnownScores()
    alone = score_lines(other, IDS, eos_id=EOS, known=known)

    def again(*given: Any) -> Any:
        raise AssertionError("scored twice")

    monkeypatch.setattr(RecurrentModel, "score", again)
    found = score_lines(mixture, IDS, eos_id=EOS, known=known)
    assert found == pytest.approx(expected, abs=1e-5)
    assert score_lines(other, IDS, eos_id=EOS, known=known) is alone
    with pytest.raises(AssertionError, match="twice"):  # other lines are not known
        score_lines(mixture, IDS[5:], eos_id=EOS, known=known)
    with pytest.raises(AssertionError, match="twice"):  # nor is another model
        score_lines(network(), IDS, eos_id=EOS, known=known)
