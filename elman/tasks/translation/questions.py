"""The questions of an encoder–decoder: write an output for every source."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from elman.errors import InputError
from elman.evaluation.attention_map import AttentionMap
from elman.evaluation.measures import Progress
from elman.notebooks import Table, records_table
from elman.tasks.question import (
    TEXTS,
    Answer,
    Question,
    asked,
    asked_batch_size,
    lines_of,
    make_request,
)
from elman.tasks.translation.attention import attention_maps
from elman.tasks.translation.trained import BEAM, LENGTH_PENALTY, TrainedTranslator, Written
from elman.text.reader import Document


@dataclass(frozen=True, kw_only=True)
class Translate:
    """Translate texts, or write summaries or captions for them."""

    texts: list[str] = asked(
        "The source texts, one per line; an empty source gives an empty output.",
        factory=list,
        kind=TEXTS,
        limit="texts",
    )
    vectors: list[list[list[float]]] = asked(
        "Instead of texts, for runs that read vectors such as image features: a list of vectors "
        "for every example.",
        factory=list,
        limit="texts",
    )
    beam: int = asked(
        "The width of the beam search; 1 is greedy search.",
        default=BEAM,
        at_least=1,
        limit="samples",
    )
    n_best: int = asked(
        "The number of outputs per source, best first; at most the beam width.",
        default=1,
        at_least=1,
        limit="samples",
    )
    length_penalty: float = asked(
        "Values above 0 favour longer outputs. 0 has no effect, 1 is close to the mean per word "
        "(Wu et al. 2016).",
        default=LENGTH_PENALTY,
    )
    coverage_penalty: float = asked(
        "Values above 0 favour outputs that attend to the whole source.", default=0.0
    )
    min_tokens: int = asked(
        "The minimum number of tokens per output.", default=0, limit="max_tokens"
    )
    max_tokens: int | None = asked(
        "The maximum number of tokens per output. Default: about twice the usual length for the "
        "length of the source.",
        default=None,
        limit="max_tokens",
    )
    sample: bool = asked("Sample n_best outputs instead of searching.", default=False)
    temperature: float = asked(
        "With sample: values below 1 favour probable words, above 1 more variety.", default=1.0
    )
    seed: int = asked("With sample: the random seed.", default=0)
    attention: bool = asked("Return the attention weights of each word.", default=False)
    whole: bool = asked(
        "Read the whole file as one source, not one per line.", default=False, terminal=True
    )
    batch_size: int = asked_batch_size("sources", default=64)

    @classmethod
    def from_document(
        cls, trained: TrainedTranslator, document: Document, given: dict[str, Any]
    ) -> Self:
        """One source per line, including empty ones; or one source from all lines."""
        texts = lines_of(document.text)
        if given.get("whole"):
            texts = [" ".join(document.text.split())]
        request: Self = make_request(cls, given | {"texts": texts})
        return request

    def options(self) -> dict[str, Any]:
        """The options for `TrainedTranslator.search`."""
        given: dict[str, Any] = {"batch_size": self.batch_size, "min_tokens": self.min_tokens}
        if self.max_tokens is not None:
            given["max_tokens"] = self.max_tokens
        if self.sample:
            drawn = {"samples": self.n_best, "temperature": self.temperature, "seed": self.seed}
            return {**given, **drawn, "beam": None}
        if self.temperature != 1.0:
            raise InputError("temperature needs sample; give both, or leave both out")
        penalties = {"length_penalty": self.length_penalty}
        if self.coverage_penalty:
            penalties["coverage_penalty"] = self.coverage_penalty
        return {**given, **penalties, "beam": self.beam, "n_best": self.n_best}


@dataclass(frozen=True)
class Translations(Answer):
    """The best outputs of every source, and attention maps on request."""

    sources: list[Any]
    found: list[list[Written]]
    several: bool  # more than one output per source was requested
    maps: list[AttentionMap] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        results = [self._result(*one) for one in zip(self.sources, self.found, strict=True)]
        for result, looked in zip(results, self.maps, strict=False):
            result["attention"] = looked.to_data()
        return {"translations": results}

    def _result(self, source: Any, texts: list[Written]) -> dict[str, Any]:
        best = texts[0] if texts else Written("", 0.0, 0.0)
        n_best = [{"text": one.text, "log_prob": one.log_prob, "score": one.score} for one in texts]
        return {
            **({"source": source} if isinstance(source, str) else {}),
            "text": best.text,
            "log_prob": best.log_prob,
            "n_best": n_best,
        }

    def lines(self) -> Iterable[str]:
        """One line per source; tab-separated columns if there are several outputs per source."""
        for number, texts in enumerate(self.found, 1):
            if not self.several:
                yield texts[0].text if texts else ""
                continue
            for rank, written in enumerate(texts, 1):
                yield f"{number}\t{rank}\t{written.score:.4f}\t{written.text}"

    def notes(self) -> list[str]:
        return self.remarks

    def as_table(self) -> Table:
        """One row per output, with its rank if there are several for each source."""
        records = []
        for source, texts in zip(self.sources, self.found, strict=True):
            for rank, one in enumerate(texts if self.several else texts[:1], 1):
                place = {"source": source if isinstance(source, str) else None}
                ranked = {"rank": rank} if self.several else {}
                written = {"text": one.text, "log_prob": one.log_prob, "score": one.score}
                records.append(place | ranked | written)
        return records_table(records)

    def _repr_html_(self) -> str:
        return super()._repr_html_() + "".join(one._repr_html_() for one in self.maps)


def translate(trained: TrainedTranslator, request: Translate, progress: Progress) -> Translations:
    """Write an output for every source."""
    sources: list[Any] = [*request.texts] or [_vectors(one) for one in request.vectors]
    if not sources or (request.texts and len(request.vectors)):
        raise InputError("give either texts or vectors, not both or neither")
    found = trained.search(sources, progress=progress, **request.options())
    maps, remarks = [], []
    if request.attention and trained.model.has_attention:
        maps = attention_maps(trained, sources, [best[0].ids if best else () for best in found])
    elif request.attention:
        remarks = ["the run was trained without attention, so there are no attention maps"]
    return Translations(sources, found, request.n_best > 1, maps, remarks)


def _vectors(example: Any) -> np.ndarray:
    """The vectors of one example, (S, F)."""
    try:
        found = np.asarray(example, dtype=np.float32)
    except ValueError:
        raise InputError("vectors: the vectors of an example have different lengths") from None
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InputError("vectors: give a list of vectors of finite numbers for every example")
    return found


QUESTIONS = {"translate": Question(Translate, translate, unit="sources")}
