"""Score runs by the length of the source: the same pairs, one score per length band.

Takes trained translators and pairs, gives `Lengths`; called by `elman study lengths`, drawn by
`figures/studies.py`. It shows the bottleneck of an encoder–decoder without attention: one vector
must hold the whole source, however long (Cho et al. 2014; Bahdanau et al. 2015, figure 2).
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elman.errors import InputError, choose
from elman.tasks.translation.measures import NAMES, TranslationMeasures, bands_of
from elman.tasks.translation.pairs import Pair
from elman.tasks.translation.trained import TrainedTranslator


@dataclass(frozen=True)
class LengthBand:
    """Sources whose length is from `shortest` to `longest` words."""

    shortest: int
    longest: int
    mean_length: float
    lines: int

    @property
    def name(self) -> str:
        """The label on an axis."""
        if self.shortest == self.longest:
            return str(self.shortest)
        return f"{self.shortest}–{self.longest}"


@dataclass(frozen=True)
class RunByLength:
    """One run: its score on all pairs, and on those of each band."""

    name: str
    whole: float
    by_length: list[float]


@dataclass(frozen=True)
class Lengths:
    """Runs side by side."""

    measure: str
    bands: list[LengthBand]
    runs: list[RunByLength]
    signature: str | None  # of BLEU and chrF: how they were computed
    notes: list[str]  # caveats about the scores

    @property
    def measure_name(self) -> str:
        return NAMES[self.measure]

    @property
    def digits(self) -> int:
        """Useful digits of a score: BLEU and chrF go to 100, the others to 1."""
        return 1 if self.measure in ("bleu", "chrf") else 3

    def gaps(self) -> list[list[float]]:
        """For each other run, how much higher the first run scores in each length band."""
        first = self.runs[0].by_length
        return [
            [one - other for one, other in zip(first, run.by_length, strict=True)]
            for run in self.runs[1:]
        ]

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


def compare_lengths(
    runs: Sequence[TrainedTranslator],
    data: str,
    *,
    split: str | None = None,
    measure: str | None = None,
    bands: int = 3,
    bounds: Sequence[int] = (),
    progress: Callable[[str], None] = lambda what: None,
    **options: Any,
) -> Lengths:
    """Translate the same pairs with every run, and score them by the length of the source.

    measure: by default the main measure of the first run. bands: the number of bands, with equal
    numbers of lines; or `bounds`, the longest length of every band but the last. Further options
    are those of `TrainedTranslator.translate`.
    """
    measure = measure or str(runs[0].config.text.measure)
    choose(NAMES, measure, "measure")
    pairs = _same_pairs(runs, data, split)
    lengths = [pair.source_length for pair in pairs]
    limits = [*bounds] or _even(lengths, bands)
    found: list[TranslationMeasures] = []
    for run in runs:
        progress(f"translating {len(pairs):,} lines with {run.name}")
        found.append(run.measure(pairs, bounds=limits, **options))
    signatures = {one.signatures.get(measure) for one in found}
    notes = [] if len(signatures) == 1 else ["the runs are scored in different ways: see --json"]
    return Lengths(
        measure=measure,
        bands=_bands(lengths, limits),
        runs=[
            RunByLength(
                run.name,
                one.whole.get(measure),
                [band.scores.get(measure) for band in one.bands],
            )
            for run, one in zip(runs, found, strict=True)
        ],
        signature=" / ".join(sorted(map(str, signatures))) if signatures != {None} else None,
        notes=notes,
    )


def _same_pairs(runs: Sequence[TrainedTranslator], data: str, split: str | None) -> list[Pair]:
    """The pairs, which must be the same for all runs."""
    pairs: list[Pair] = runs[0].examples(data, split)
    if not pairs:
        raise InputError(f"{data}: has no pairs to evaluate on")
    targets = [pair.target for pair in pairs]
    for run in runs[1:]:
        others = [pair.target for pair in run.examples(data, split)]
        if others != targets:
            raise InputError(
                f"{data}: {run.name} and {runs[0].name} read different pairs; compare runs "
                "with the same sides, and name a --split"
            )
    return pairs


def _even(lengths: Sequence[int], bands: int) -> list[int]:
    """Bounds for so many bands with equal numbers of lines, as far as lengths allow."""
    if bands < 1:
        raise InputError(f"bands={bands}: must be at least 1")
    ordered = sorted(lengths)
    parts = [len(ordered) * part // bands for part in range(1, bands)]
    return [ordered[part - 1] for part in parts if part]


def _bands(lengths: Sequence[int], bounds: Sequence[int]) -> list[LengthBand]:
    return [
        LengthBand(shortest, longest, statistics.fmean(lengths[row] for row in rows), len(rows))
        for shortest, longest, rows in bands_of(lengths, bounds)
    ]
