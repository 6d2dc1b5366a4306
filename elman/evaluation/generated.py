"""Measures of generated text beyond perplexity: variety, repetition, length, copying.

Takes samples as lists of tokens, and optionally the training tokens; gives plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Ngrams = list[tuple[str, ...]]


@dataclass(frozen=True)
class GeneratedText:
    """Statistics over all samples."""

    samples: int
    mean_length: float  # tokens
    distinct: dict[int, float]  # order -> share of distinct n-grams (Li et al. 2016)
    repetition: float  # share of 4-grams that occurred earlier in the same sample
    copied: dict[int, float] | None  # order -> share of n-grams that occur in the training text
    longest_copy: int | None  # longest sequence of tokens that occurs in the training text


def measure_generated(
    samples: Sequence[Sequence[str]], training: Sequence[str] | None = None
) -> GeneratedText:
    """Measure samples; `training` is the token sequence they may have copied from."""
    lengths = [len(sample) for sample in samples]
    distinct = {}
    for order in (1, 2, 3):
        ngrams = [ngram for sample in samples for ngram in ngrams_of(sample, order)]
        distinct[order] = len(set(ngrams)) / len(ngrams) if ngrams else 0.0
    return GeneratedText(
        samples=len(samples),
        mean_length=sum(lengths) / max(len(lengths), 1),
        distinct=distinct,
        repetition=_repetition(samples, order=4),
        copied=_copied(samples, training, orders=(4, 6, 8)) if training is not None else None,
        longest_copy=_longest_copy(samples, training) if training is not None else None,
    )


def ngrams_of(tokens: Sequence[str], order: int) -> Ngrams:
    """All n-grams of a token sequence, in order."""
    return list(zip(*(tokens[offset:] for offset in range(order)), strict=False))


def _repetition(samples: Sequence[Sequence[str]], order: int) -> float:
    ngrams = [ngrams_of(sample, order) for sample in samples]
    total = sum(map(len, ngrams))
    return 1 - sum(len(set(sample)) for sample in ngrams) / total if total else 0.0


def _copied(
    samples: Sequence[Sequence[str]], training: Sequence[str], orders: tuple[int, ...]
) -> dict[int, float]:
    shares = {}
    for order in orders:
        known = set(ngrams_of(training, order))
        ngrams = [ngram for sample in samples for ngram in ngrams_of(sample, order)]
        shares[order] = sum(ngram in known for ngram in ngrams) / len(ngrams) if ngrams else 0.0
    return shares


def _longest_copy(samples: Sequence[Sequence[str]], training: Sequence[str]) -> int:
    """Increase the length while some n-gram is copied: every part of a copy is a copy too."""
    longest = 0
    while True:
        known = set(ngrams_of(training, longest + 1))
        if not any(
            ngram in known for sample in samples for ngram in ngrams_of(sample, longest + 1)
        ):
            return longest
        longest += 1
