"""What can be asked of a model besides continuations: one request shape and one function per task.

Each function takes a `ServedModel` and its request, gives plain data, and says nothing that the
command of the same name would not say with --json. `TASKS` names them all; `app.py` makes a route
`/v1/NAME` of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from pydantic import Field

from elman.errors import InputError
from elman.studio.completion_request import Strict, check_prompt
from elman.studio.distribution import DistributionRequest, distribution
from elman.studio.embeddings import EmbeddingsRequest, embeddings
from elman.studio.jobs import Job
from elman.studio.limits import Limits, refuse_above
from elman.studio.served import ServedModel
from elman.text.reader import Document

if TYPE_CHECKING:
    from elman.tasks.answering.task import FoundAnswer


@dataclass(frozen=True)
class Question:
    """A task for a model."""

    model: ServedModel
    limits: Limits
    job: Job

    def check_text(self, *texts: str) -> None:
        """Refuse more text than a request may have."""
        size = sum(map(len, texts))
        refuse_above("the number of characters", size, self.limits.text_characters)

    def check_prompt(self, prompt: str | list[int]) -> None:
        """The same for a language model, in tokens as well; and that it has these ids."""
        tokenizer = self.model.trained.tokenizer
        check_prompt(prompt, len(tokenizer), self.limits)
        ids = tokenizer.encode_typed(prompt) if isinstance(prompt, str) else prompt
        refuse_above("the number of tokens", len(ids), self.limits.prompt_tokens)


class TextRequest(Strict):
    """A text."""

    text: str = Field(description="The text.")


class SuggestRequest(Strict):
    """What was typed so far."""

    text: str = ""
    top: int = Field(5, ge=1, description="How many suggestions.")
    complete: bool = Field(False, description="The last word is unfinished: suggest its endings.")


class SurprisalRequest(TextRequest):
    """A text to read."""

    base: float = Field(2.0, description="Of the logarithm: 2 for bits.")
    reset: str = Field("line", description="line or stream.")


class ScoreRequest(TextRequest):
    """A text to measure."""

    reset: str = Field("stream", description="line or stream.")


class ClassifyRequest(Strict):
    """Texts, or pairs of texts."""

    texts: list[str | list[str]]
    explain: bool = Field(False, description="With what each word contributes.")


class AnswerRequest(Strict):
    """A question and the passage that has its answer."""

    question: str
    passage: str


class TranslateRequest(Strict):
    """Sentences to translate."""

    texts: list[str]
    attention: bool = Field(False, description="Whether to tell where the model looked.")


class EmbedRequest(TextRequest):
    """Lines whose words are wanted as vectors."""

    layer: str = Field("mix", description="all, mix or the number of a layer.")


class InspectRequest(TextRequest):
    """A text, and what to look at while it is read."""

    view: str = Field(description="A name that GET /v1/inspect lists.")


def suggest(question: Question, asked: SuggestRequest) -> dict[str, Any]:
    """The likeliest next words."""
    refuse_above("top", asked.top, question.limits.top)
    question.check_prompt(asked.text)
    found = question.model.trained.suggest(asked.text, top=asked.top, complete=asked.complete)
    return {"suggestions": [vars(suggestion) for suggestion in found]}


def surprisal(question: Question, asked: SurprisalRequest) -> dict[str, Any]:
    """Surprisal, entropy and rank of every word."""
    if not math.isfinite(asked.base):
        raise InputError(f"base={asked.base}: the base of a logarithm must be above 1 (2, e or 10)")
    question.check_prompt(asked.text)
    words = question.model.trained.surprisal(
        asked.text, base=asked.base, reset=asked.reset, progress=question.job.go_on
    )
    return {"base": asked.base, "reset": asked.reset, "words": [vars(word) for word in words]}


def score(question: Question, asked: ScoreRequest) -> dict[str, Any]:
    """Perplexity and the like."""
    from elman.evaluation.reading import Reading

    question.check_prompt(asked.text)
    document, reading = Document("text", asked.text), Reading(asked.reset)
    measured = question.model.trained.measure(document, reading, question.job.go_on)
    return dict(measured.to_data())


def tag(question: Question, asked: TextRequest) -> dict[str, Any]:
    """A tag for every word."""
    question.check_text(asked.text)
    refuse_above("the number of sentences", asked.text.count("\n"), question.limits.texts)
    return question.model.trained.ask("tag", text=asked.text).to_data()


def classify(question: Question, asked: ClassifyRequest) -> dict[str, Any]:
    """The label of every text."""
    refuse_above("the number of texts", len(asked.texts), question.limits.texts)
    texts = [[text] if isinstance(text, str) else text for text in asked.texts]
    question.check_text(*(part for text in texts for part in text))
    trained = question.model.trained
    results = [dict(vars(found)) for found in trained.classify(texts)]
    if asked.explain:
        for text, result in zip(texts, results, strict=True):
            question.job.go_on()
            result["contributions"] = [vars(word) for word in trained.explain(text)]
    return {"results": results}


def answer(question: Question, asked: AnswerRequest) -> dict[str, Any]:
    """The span of a passage that answers a question."""
    question.check_text(asked.question, asked.passage)
    found: FoundAnswer = question.model.trained.answer(asked.question, asked.passage)
    return found.to_data()


def translate(question: Question, asked: TranslateRequest) -> dict[str, Any]:
    """Every sentence in the other language."""
    refuse_above("the number of texts", len(asked.texts), question.limits.texts)
    question.check_text(*asked.texts)
    trained = question.model.trained
    found = trained.search(asked.texts)
    translations: list[dict[str, Any]] = [{"text": best[0].text if best else ""} for best in found]
    if asked.attention and trained.model.has_attention:
        from elman.tasks.translation.attention import attention_maps

        maps = attention_maps(trained, asked.texts, [best[0].ids if best else () for best in found])
        for translation, looked in zip(translations, maps, strict=True):
            translation["attention"] = looked.to_data()
    return {"translations": translations}


def embed(question: Question, asked: EmbedRequest) -> dict[str, Any]:
    """Vectors of every word of every line."""
    from elman.tasks.vectors import embed_lines, embedder_of

    question.check_text(asked.text)
    lines = [line for line in asked.text.split("\n") if line.strip()]
    refuse_above("the number of lines", len(lines), question.limits.texts)
    embedder = embedder_of(question.model.trained, question.model.id)
    found = embed_lines(embedder, lines, asked.layer, question.job.go_on)
    return {"lines": [{"words": line.words, "layers": line.layers.tolist()} for line in found]}


def inspect(question: Question, asked: InspectRequest) -> dict[str, Any]:
    """What went on inside while a text was read."""
    from elman.tasks.language_modelling.inspection import inspect as look
    from elman.training.history import read_history

    question.check_prompt(asked.text)
    trained, path = question.model.trained, question.model.path
    history = [] if path is None else read_history(path)
    with torch.inference_mode(False):  # gradients are what is looked at
        seen = look(
            trained, asked.text, only=[asked.view], history=history, progress=question.job.go_on
        )
    if asked.view in seen.unseen:
        raise InputError(f"{asked.view}: {seen.unseen[asked.view]}")
    data = seen.to_data()
    kept = {key: data[key] for key in ("text", "tokens", "left_out")}
    return {"view": asked.view, **kept, **data["insights"][asked.view]}


@dataclass(frozen=True)
class Task:
    """A route: what it takes, and what answers it."""

    request: type[Strict]
    answer: Callable[[Question, Any], dict[str, Any]]


def views() -> list[dict[str, Any]]:
    """What can be looked at."""
    from elman.insight import INSIGHTS

    return [{"id": name, "about": about} for name, about in INSIGHTS.abouts().items()]


TASKS: dict[str, Task] = {
    "distribution": Task(DistributionRequest, distribution),
    "suggest": Task(SuggestRequest, suggest),
    "surprisal": Task(SurprisalRequest, surprisal),
    "score": Task(ScoreRequest, score),
    "tag": Task(TextRequest, tag),
    "classify": Task(ClassifyRequest, classify),
    "answer": Task(AnswerRequest, answer),
    "translate": Task(TranslateRequest, translate),
    "embed": Task(EmbedRequest, embed),
    "embeddings": Task(EmbeddingsRequest, embeddings),
    "inspect": Task(InspectRequest, inspect),
}
