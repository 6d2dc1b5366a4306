"""What can be asked of an encoder–decoder: a text for every source."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from elman.errors import InputError
from elman.evaluation.attention_map import AttentionMap
from elman.evaluation.measures import Progress
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
    """Translate texts, or write whatever the run learned to write for them."""

    texts: list[str] = asked(
        "Sources, one per line; an empty one gives an empty text.",
        factory=list,
        kind=TEXTS,
        limit="texts",
    )
    vectors: list[list[list[float]]] = asked(
        "For runs that read vectors, like features of pictures, instead of texts: for every "
        "example a list of vectors.",
        factory=list,
        limit="texts",
    )
    beam: int = asked(
        "Search for the likeliest whole text, this many at a time; 1: word after word (greedy).",
        default=BEAM,
        at_least=1,
        limit="samples",
    )
    n_best: int = asked(
        "How many texts for each source, best first; at most as many as the beam has.",
        default=1,
        at_least=1,
        limit="samples",
    )
    length_penalty: float = asked(
        "Above 0 favours longer texts: 0 none, 1 about the mean per word (Wu et al. 2016).",
        default=LENGTH_PENALTY,
    )
    coverage_penalty: float = asked(
        "Above 0 favours texts that look at all of the source.", default=0.0
    )
    min_tokens: int = asked("No end before this many tokens.", default=0, limit="max_tokens")
    max_tokens: int | None = asked(
        "Most tokens of a text; by default about twice what is usual for such a source.",
        default=None,
        limit="max_tokens",
    )
    sample: bool = asked("Draw each text by chance instead, n_best of them.", default=False)
    temperature: float = asked("With sample: below 1 likelier, above 1 more various.", default=1.0)
    seed: int = asked("With sample: the same seed draws the same texts.", default=0)
    attention: bool = asked("Tell where the model looked for each word.", default=False)
    whole: bool = asked("The file is one text, of several lines.", default=False, terminal=True)
    batch_size: int = asked_batch_size("sources", default=64)

    @classmethod
    def from_document(
        cls, trained: TrainedTranslator, document: Document, given: dict[str, Any]
    ) -> Self:
        """A source per line, the empty ones too; or one of all lines."""
        texts = lines_of(document.text)
        if given.get("whole"):
            texts = [" ".join(document.text.split())]
        request: Self = make_request(cls, given | {"texts": texts})
        return request

    def options(self) -> dict[str, Any]:
        """As `TrainedTranslator.search` takes them."""
        given: dict[str, Any] = {"batch_size": self.batch_size, "min_tokens": self.min_tokens}
        if self.max_tokens is not None:
            given["max_tokens"] = self.max_tokens
        if self.sample:
            drawn = {"samples": self.n_best, "temperature": self.temperature, "seed": self.seed}
            return {**given, **drawn, "beam": None}
        if self.temperature != 1.0:
            raise InputError("temperature is for sample; add it, or leave both out")
        penalties = {"length_penalty": self.length_penalty}
        if self.coverage_penalty:
            penalties["coverage_penalty"] = self.coverage_penalty
        return {**given, **penalties, "beam": self.beam, "n_best": self.n_best}


@dataclass(frozen=True)
class Translations(Answer):
    """The best texts of every source, and where the model looked, if asked."""

    sources: list[Any]
    found: list[list[Written]]
    several: bool  # n_best texts per source were wanted
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
        """A line for every source; of several texts each, columns with tabs."""
        for number, texts in enumerate(self.found, 1):
            if not self.several:
                yield texts[0].text if texts else ""
                continue
            for rank, written in enumerate(texts, 1):
                yield f"{number}\t{rank}\t{written.score:.4f}\t{written.text}"

    def notes(self) -> list[str]:
        return self.remarks


def translate(trained: TrainedTranslator, request: Translate, progress: Progress) -> Translations:
    """A text for every source."""
    sources: list[Any] = [*request.texts] or [_vectors(one) for one in request.vectors]
    if not sources or (request.texts and len(request.vectors)):
        raise InputError("give either texts or vectors, not both or neither")
    found = trained.search(sources, progress=progress, **request.options())
    maps, remarks = [], []
    if request.attention and trained.model.has_attention:
        maps = attention_maps(trained, sources, [best[0].ids if best else () for best in found])
    elif request.attention:
        remarks = ["the run was trained without attention, so there is none to see"]
    return Translations(sources, found, request.n_best > 1, maps, remarks)


def _vectors(example: Any) -> np.ndarray:
    """The vectors of one example, (S, F)."""
    try:
        found = np.asarray(example, dtype=np.float32)
    except ValueError:
        raise InputError("vectors: the vectors of an example have different lengths") from None
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InputError("vectors: give for every example a list of vectors of finite numbers")
    return found


QUESTIONS = {"translate": Question(Translate, translate, unit="sources")}
