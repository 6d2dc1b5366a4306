"""Probabilities of tags at any temperature, from scores that are computed once.

    sentences ── network ── scores (kept) ── output at a temperature ── log probabilities of tags

Called by the trained tagger, for answers, for measures and for fitting its temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch

from elman.batches.sentences import Sentences
from elman.evaluation.calibration import Predictions
from elman.models.tagger import Tagger


class ScoredSentences:
    """The scores of sentences before the output of a tagger."""

    def __init__(
        self,
        model: Tagger,
        sentences: int,
        batches: Iterable[tuple[np.ndarray, tuple[Sentences, ...]]],
    ) -> None:
        """`batches`: rows of the sentences with their words; sentences without words are left out.

        Must be iterated without gradients.
        """
        self._model = model
        self._sentences = sentences
        self._scored = [(rows, model.score(batch), batch.lengths) for rows, (batch,) in batches]

    def best(self, offset: float = 0.0) -> list[list[int]]:
        """The most probable tags of every sentence, by number; `offset`: O is lowered by it."""
        found: list[list[int]] = [[] for _ in range(self._sentences)]
        for rows, scores, lengths in self._scored:
            best = self._model.choose(scores, lengths, offset).tolist()
            for row, tags, length in zip(rows, best, lengths.tolist(), strict=True):
                found[row] = tags[:length]
        return found

    @torch.no_grad()
    def log_marginals(self, temperature: float) -> list[np.ndarray]:
        """Log probabilities of the tags of training, (words, tags) per sentence."""
        found = [np.zeros((0, self._model.output.tags))] * self._sentences
        for rows, scores, lengths in self._scored:
            output = self._model.output.log_marginals(scores.double(), lengths, temperature)
            for row, values, length in zip(rows, output.numpy(), lengths.tolist(), strict=True):
                found[row] = values[:length]
        return found


class ComparedTags:
    """The correct and the predicted tags of sentences, and the probabilities of the latter."""

    def __init__(
        self,
        scored: ScoredSentences,
        *,
        right: Sequence[Sequence[str]],
        guessed: Sequence[Sequence[str]],
        numbers: Sequence[np.ndarray],
        marginals: Sequence[str],
        as_marginal: Callable[[str], str],
    ) -> None:
        """`right`, `guessed`: tags as the files write them; `numbers`: the correct tags by number,
        those unseen in training after all others; `marginals`: the name under which the
        probability of each tag of training is counted; `as_marginal` gives it for any tag.
        """
        self.right = right
        self.guessed = guessed
        self._scored = scored
        self._targets = np.concatenate([*numbers, np.array([], dtype=np.int64)])
        names = [*dict.fromkeys(marginals)]
        self._summed = np.array([[name == own for name in names] for own in marginals], dtype=float)
        places = {name: place for place, name in enumerate(names)}
        flat = [tag for tags in guessed for tag in tags]
        self._places = np.array([places.get(as_marginal(tag), -1) for tag in flat], dtype=int)
        pairs = zip((tag for tags in right for tag in tags), flat, strict=True)
        self._correct = np.array([tag == guess for tag, guess in pairs], dtype=bool)

    def predict(self, temperature: float) -> Predictions:
        """The predictions at a temperature, one per word."""
        tags = len(self._summed)
        found = self._scored.log_marginals(temperature)
        log_probs = np.concatenate([*found, np.zeros((0, tags))])  # (words, tags)
        seen = self._targets < tags
        nats = -log_probs[seen, self._targets[seen]].sum()
        confidences = (np.exp(log_probs) @ self._summed)[np.arange(len(log_probs)), self._places]
        confidences = np.where(self._places < 0, 0.0, confidences)
        return Predictions(float(nats), confidences, self._correct)
