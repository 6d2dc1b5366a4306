"""A trained encoder–decoder with its task: sources in, texts out.

The result of `elman.train` and `elman.load` for translation. Every source gives one result in its
place; an empty source gives an empty result. Sources of similar length are searched in one batch,
which does not change the results.

Several translators can form an ensemble: their probabilities are averaged at every step by the
adapter for language models (`adapters/mixture.py`), because a decoder is a language model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from elman.adapters.mixture import Mixture
from elman.batches.sources import pad_rows
from elman.decoding.beam import Hypothesis, beam_search_rows
from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import sample
from elman.errors import InputError
from elman.evaluation.bootstrap import Measure
from elman.evaluation.measures import Progress, silent
from elman.models.contract import LanguageModel
from elman.tasks.arguments import check_list, check_pairs
from elman.tasks.example_task import TrainedTask
from elman.tasks.translation.measures import (
    Judging,
    TranslationMeasures,
    measure_translation,
    resampled_translation,
)
from elman.tasks.translation.pairs import Pair
from elman.tasks.translation.sides import Side
from elman.text import guess_tokenizer

if TYPE_CHECKING:
    from elman.tasks.translation.task import ReadSource, Translation

BEAM = 5
LENGTH_PENALTY = 1.0
_FURTHER = 10  # extra tokens for a target, beyond twice the usual length for its source


@dataclass(frozen=True)
class Written:
    """An output text, its log probability, and the score for ranking."""

    text: str
    log_prob: float
    score: float
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Alignment:
    """The attention weights of a pair."""

    source: list[str]  # tokens, the last one <eos>
    target: list[str]
    weights: np.ndarray  # (target, source); every row sums to one


class TrainedTranslator(TrainedTask):
    """An encoder–decoder with its tokenizers."""

    about = "an encoder–decoder"
    task: Translation
    model: Any  # an EncoderDecoder, or a mixture of several

    # Writing --------------------------------------------------------------------------------------

    def translate(
        self,
        sources: Sequence[str | np.ndarray],
        *,
        beam: int = BEAM,
        batch_size: int = 64,
        progress: Progress = silent,
        **options: Any,
    ) -> list[str]:
        """The best output of every source; takes the options of `DecodingOptions`."""
        found = self.search(sources, beam=beam, batch_size=batch_size, progress=progress, **options)
        return [best[0].text if best else "" for best in found]

    def search(
        self,
        sources: Sequence[str | np.ndarray],
        *,
        beam: int | None = BEAM,
        batch_size: int = 64,
        progress: Progress = silent,
        **options: Any,
    ) -> list[list[Written]]:
        """The `n_best` best outputs of every source, best first; none for an empty source.

        With `beam=None`, `samples` outputs are sampled instead.
        """
        if batch_size < 1:
            raise InputError(f"batch_size={batch_size}: must be at least 1")
        sources = check_list(sources, "sources", "texts")
        found: list[list[Written]] = [[] for _ in sources]
        encoded = self.task.encode_sources(sources)
        for rows in self._rows(encoded, batch_size):
            some = [encoded[row] for row in rows]
            least = options.get("min_tokens", 0)
            limits = [max(self._limit(len(source)), least) for source in some]
            asked = self._options(beam, max(limits), options)
            limits = [min(limit, asked.max_tokens) for limit in limits]
            if beam is None:  # one source at a time, with its own limit
                texts = [
                    self._draw(source, replace(asked, max_tokens=limit))
                    for source, limit in zip(some, limits, strict=True)
                ]
            else:
                texts = beam_search_rows(self.model, self._start(some), asked, limits=limits)
            for row, best in zip(rows, texts, strict=True):
                found[row] = [
                    Written(self._decode(one.ids, encoded[row]), one.log_prob, one.score, one.ids)
                    for one in best
                ]
            progress(len(rows), len(encoded))
        return found

    def _draw(self, source: ReadSource, options: DecodingOptions) -> list[Hypothesis]:
        """Sample outputs for one source; the most probable first."""
        drawn: list[list[int]] = [[] for _ in range(options.samples)]
        state = self._start([source] * options.samples)
        for step in sample(self.model, state, options):
            for ids, number in zip(drawn, step, strict=True):
                if number is not None:
                    ids.append(number)
        scores = [float(self._log_probs(source, ids).sum()) for ids in drawn]
        texts = [
            Hypothesis(tuple(ids), score, score) for ids, score in zip(drawn, scores, strict=True)
        ]
        return sorted(texts, key=lambda text: -text.score)

    @torch.inference_mode()
    def _log_probs(self, source: ReadSource, ids: Sequence[int]) -> torch.Tensor:
        log_probs, _ = self.model.score(torch.tensor([ids]), self._start([source]))
        given: torch.Tensor = log_probs[0]
        return given

    def _options(self, beam: int | None, longest: int, options: dict[str, Any]) -> DecodingOptions:
        tokenizer = self.task.target.tokenizer
        unknown = () if tokenizer.unknown_id is None else (tokenizer.unknown_id,)
        given = {"max_tokens": longest, "banned": unknown, **options}
        if beam is not None:
            given = {"length_penalty": LENGTH_PENALTY, **given}
        return DecodingOptions(beam=beam, stop_ids=(tokenizer.eos_id,), **given)

    def _limit(self, length: int) -> int:
        """The maximum number of output tokens, by the length of the source."""
        return round(2 * self.task.growth * length) + _FURTHER

    def _rows(self, encoded: Sequence[ReadSource], batch_size: int) -> Iterator[np.ndarray]:
        """Batches of sources of similar length, by number; empty ones are left out."""
        if isinstance(self.model, torch.nn.Module):
            self.model.eval()
        lengths = np.array([len(source) for source in encoded], dtype=int)
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] > 0]
        for first in range(0, len(order), batch_size):
            yield order[first : first + batch_size]

    @torch.inference_mode()
    def _start(self, encoded: Sequence[ReadSource]) -> Any:
        model: LanguageModel = self.model
        return model.start(len(encoded), self.task.source_batch(encoded))

    def _decode(self, ids: Sequence[int], source: ReadSource) -> str:
        eos = self.task.target.tokenizer.eos_id
        return self.task.decode(ids[:-1] if ids and ids[-1] == eos else ids, source)

    # Looking at given targets ---------------------------------------------------------------------

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[Any, str]], *, batch_size: int = 64) -> list[float]:
        """The log probability of every target, given its source."""
        pairs = check_pairs(pairs, "pairs", ("source", "target"))
        scores = [0.0] * len(pairs)
        sources, targets = self.task.encode([Pair(*pair) for pair in pairs])
        for rows, ids, some in self._given(sources, targets, batch_size):
            log_probs, _ = self.model.score(ids, self._start(some))
            for row, of_row in zip(rows, log_probs, strict=True):
                scores[row] = float(of_row[: len(targets[row]) + 1].sum())
        return scores

    def _given(
        self, sources: list[ReadSource], targets: list[np.ndarray], batch_size: int
    ) -> Iterator[tuple[np.ndarray, torch.Tensor, list[ReadSource]]]:
        """Numbers of rows of like length, the ids of their targets with `<eos>`, their sources."""
        eos = self.task.target.tokenizer.eos_id
        for rows in self._rows(sources, batch_size):
            ids = pad_rows([targets[row] for row in rows], eos, further=1)
            yield rows, ids, [sources[row] for row in rows]

    @torch.inference_mode()
    def alignments(
        self, pairs: Sequence[tuple[Any, str]], *, batch_size: int = 64
    ) -> list[Alignment]:
        """The attention weights for given targets; `<eos>` is last on both sides."""
        self.check_attention()
        pairs = check_pairs(pairs, "pairs", ("source", "target"))
        sources, targets = self.task.encode([Pair(*pair) for pair in pairs])
        found: dict[int, Alignment] = {}
        for rows, ids, some in self._given(sources, targets, batch_size):
            weights = attention_of(self.model, self.task.source_batch(some), ids)  # (B, T, S)
            for place, row in enumerate(rows):
                found[row] = self._alignment(sources[row], targets[row], weights[place])
        nothing = np.zeros((0, 0), dtype=np.float32)
        return [found.get(row, Alignment([], [], nothing)) for row in range(len(pairs))]

    def check_attention(self) -> None:
        """Refuse a run without attention."""
        if not self.model.has_attention:
            raise InputError(
                f"{self.name}: this run was trained without attention; leave out --attention and "
                "--alignments"
            )

    def _alignment(self, source: ReadSource, target: np.ndarray, weights: np.ndarray) -> Alignment:
        known = [*self.task.target.tokenizer.tokens, *source.unknown]
        tokens = [*(known[number] for number in target), "<eos>"]
        if self.task.source is None:
            seen = [str(place) for place in range(1, len(source) + 1)]
        else:
            seen = [*self.task.source.tokens(source.numbers), "<eos>"]
        return Alignment(seen, tokens, weights[: len(tokens), : len(seen)])

    # Measuring ------------------------------------------------------------------------------------

    def measure(
        self,
        examples: Sequence[Pair],
        *,
        tokenize: str = "auto",
        bounds: Sequence[int] | None = None,
        beam: int = BEAM,
        batch_size: int = 64,
        progress: Progress = silent,
        **options: Any,
    ) -> TranslationMeasures:
        """Translate the sources of pairs and compare the results with the targets.

        `tokenize`: the tokenizer of BLEU (13a, none, intl, char, zh); auto: none if spaces already
        separate punctuation in the references, otherwise 13a. `bounds`: the limits of the length
        bands. Other options are passed to `translate`.
        """
        options |= {"beam": beam, "batch_size": batch_size, "progress": progress}
        right = [pair.target for pair in examples]
        judging = self._judging(right, tokenize)  # refused before the long work
        empty = sum(not pair.whole for pair in examples)
        return measure_translation(
            right,
            self.translate([pair.source for pair in examples], **options),
            [pair.source_length for pair in examples],
            judging=judging,
            bounds=bounds,
            remarks=[f"{empty:,} pairs have an empty side; they are measured too"] if empty else (),
        )

    def _judging(self, right: Sequence[str], tokenize: str = "auto") -> Judging:
        """How outputs are compared with these references."""
        if tokenize == "auto":
            tokenize = "none" if guess_tokenizer("\n".join(right)) == "words" else "13a"
        text = self.config.text
        return Judging(tokenize, text.lowercase, text.measure)

    def references(self, examples: Sequence[Pair]) -> list[Any]:
        """Sources and targets as they are compared: in lower case if the run writes lower case."""
        lowercase = self.config.text.lowercase
        return [
            (
                pair.source if isinstance(pair.source, str) else pair.source.tobytes(),
                pair.target.lower() if lowercase else pair.target,
            )
            for pair in examples
        ]

    def measures_of(self, examples: Sequence[Pair]) -> list[Measure]:
        right = [pair.target for pair in examples]
        guessed = self.translate([pair.source for pair in examples])
        return resampled_translation(right, guessed, self._judging(right))


@torch.inference_mode()
def attention_of(model: LanguageModel, source: object, ids: torch.Tensor) -> np.ndarray:
    """The attention weights of each predicted id (B, T) over the source, (B, T, S)."""
    state = model.start(len(ids), source)
    steps = [model.attention(state)[0]]
    for t in range(ids.shape[1] - 1):
        state = model.read(ids[:, t : t + 1], state)
        steps.append(model.attention(state)[0])
    weights: np.ndarray = torch.stack(steps, dim=1).numpy(force=True)
    return weights


def mix_translators(runs: Sequence[TrainedTranslator]) -> TrainedTranslator:
    """An ensemble of runs with equal weights; a single run stays itself."""
    first, *others = runs
    for other in others:
        for name in ("source", "target"):
            own, its = getattr(first.task, name), getattr(other.task, name)
            if not _alike(own, its):
                raise InputError(
                    f"{first.name} and {other.name} have different {name} vocabularies; only "
                    "runs with the same vocabularies can be mixed"
                )
    if not others:
        return first
    mixture = Mixture([run.model for run in runs], [1 / len(runs)] * len(runs))
    name = " + ".join(run.name for run in runs)
    return type(first)(first.task, mixture, first.facts, name)


def _alike(own: Side | None, its: Side | None) -> bool:
    if own is None or its is None:
        return own is its
    return own.tokenizer.to_data() == its.tokenizer.to_data()
