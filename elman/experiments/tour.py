"""The ladder of models on two built-in corpora: counts, a window, and three recurrences.

Gives the tables, curves, samples and surprisals that `elman tour` shows. A rung is one line in
`RUNGS`; add further rungs there.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from elman.evaluation.grammar import DistanceScore, agreement_by_distance
from elman.evaluation.measurement import Measurement
from elman.evaluation.surprisal import WordSurprisal
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import train
from elman.text.corpora import open_corpus
from elman.text.grammar import elman_grammar
from elman.training.machine import Machine


@dataclass(frozen=True)
class Rung:
    """A model of the ladder: how to train it, and its adapters."""

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()


_COUNTS = "model.smoothing="
# The grammar has 26 words and infinitely many sentences: little can be memorised.
_GRAMMAR = ("model.dropout_input=0", "model.dropout_output=0.1")
_GRAMMAR_WINDOW = ("model.order=5", "model.output=full", "model.dropout=0.1", "training.epochs=8")
_DOCS = ("model.output=sampled", "training.epochs=8")
RUNGS = {
    "grammar": [
        Rung("unigram: how often", "ngram", ("model.order=1", f"{_COUNTS}witten-bell")),
        Rung("bigram, add one (Laplace)", "laplace"),
        Rung("trigram, Witten-Bell", "ngram", ("model.order=3", f"{_COUNTS}witten-bell")),
        Rung("trigram, modified Kneser-Ney", "ngram", ("model.order=3",)),
        Rung("5-gram, modified Kneser-Ney", "ngram"),
        Rung("window of four words (Bengio)", "bengio", _GRAMMAR_WINDOW),
        Rung("Elman network", "small", ("model.cell=elman", *_GRAMMAR)),
        Rung("GRU", "small", ("model.cell=gru", *_GRAMMAR)),
        Rung("LSTM", "small", _GRAMMAR),
    ],
    "python-docs": [
        Rung("bigram, add one (Laplace)", "laplace"),
        Rung("trigram, Witten-Bell", "ngram", ("model.order=3", f"{_COUNTS}witten-bell")),
        Rung("5-gram, modified Kneser-Ney", "ngram"),
        Rung("the same with a cache", "ngram", (), ("cache",)),
        Rung("sub-words, 6-gram", "ngram-subwords", ("text.vocabulary_size=2000",)),
        Rung("characters, 8-gram", "ngram-characters"),
        Rung("window of five words (Bengio)", "bengio", ("training.epochs=5",)),
        Rung("Elman network", "small", ("model.cell=elman", *_DOCS)),
        Rung("GRU", "small", ("model.cell=gru", *_DOCS)),
        Rung("LSTM", "small", _DOCS),
    ],
}
_SENTENCE = "boys who Mary chases walk .\n"
_PROMPTS = {"grammar": "boys who", "python-docs": "The value of"}
SHOWN = ("5-gram, modified Kneser-Ney", "LSTM")  # whose samples and surprisals are shown


@dataclass(frozen=True)
class Result:
    """The result of one rung."""

    rung: str
    measurement: Measurement
    seconds: float
    history: list[dict[str, Any]] = field(default_factory=list)  # training records, if neural


@dataclass
class Tour:
    """All results of the tour."""

    ladders: dict[str, list[Result]] = field(default_factory=dict)
    limit: float = math.nan  # perplexity of the grammar itself on the same test text
    entropy_limit: float = math.nan  # the exact limit of perplexity over all its sentences
    agreement: dict[str, list[DistanceScore]] = field(default_factory=dict)  # rung to distances
    samples: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # corpus, rung
    sentences: dict[str, list[WordSurprisal]] = field(default_factory=dict)  # rung to words
    true_sentence: list[float] = field(default_factory=list)  # bits, under the grammar itself
    seconds: float = 0.0


def tour(
    progress: Callable[[str], None] = lambda what: None,
    climbed: Callable[[str, Result, Tour], None] = lambda corpus, result, seen: None,
) -> Tour:
    """Train every rung on the built-in corpora; `climbed` gets each result as soon as it exists."""
    started = time.perf_counter()
    seen = Tour()
    seen.limit, seen.entropy_limit = grammar_limits()
    for corpus, rungs in RUNGS.items():
        seen.ladders[corpus], seen.samples[corpus] = [], {}
        for rung in rungs:
            progress(f"{corpus}: {rung.name}")
            result, model = climb(rung, corpus)
            seen.ladders[corpus].append(result)
            climbed(corpus, result, seen)
            if rung.name in SHOWN:
                seen.samples[corpus][rung.name] = _samples(model, _PROMPTS[corpus])
            if corpus == "grammar":
                _look(seen, rung, model)
    log_probs = elman_grammar().log_probs(_SENTENCE.split())
    seen.true_sentence = [abs(log_prob) / math.log(2) for log_prob in log_probs]
    seen.seconds = time.perf_counter() - started
    return seen


def _look(seen: Tour, rung: Rung, model: TrainedModel) -> None:
    """Measure what needs the grammar: agreement, and surprisal against the truth."""
    lines = open_corpus("grammar").split("test").text.splitlines()
    if rung.recipe != "laplace" and "unigram" not in rung.name:
        found = agreement_by_distance(model.model, model.tokenizer, lines)
        seen.agreement[rung.name] = found
    if rung.name in SHOWN:
        seen.sentences[rung.name] = model.surprisal(_SENTENCE)


def climb(rung: Rung, corpus: str) -> tuple[Result, TrainedModel]:
    """Train one rung and measure it on the test text."""
    started = time.perf_counter()
    history: list[dict[str, Any]] = []
    # A second thread does not speed up such small networks, and slows them on a busy machine.
    machine = Machine(record=history.append, threads=1)
    model = train(
        rung.recipe,
        data=corpus,
        overrides=rung.overrides,
        machine=machine,
        kind=TrainedModel,
    )
    if rung.adapters:
        model = model.with_adapters(rung.adapters, corpus)
    measurement = model.evaluate(corpus)
    return Result(rung.name, measurement, time.perf_counter() - started, history), model


def grammar_limits() -> tuple[float, float]:
    """Perplexity of the grammar on its own test text, and over all texts it can generate."""
    grammar = elman_grammar()
    lines = open_corpus("grammar").split("test").text.splitlines()
    log_probs = [log_prob for line in lines for log_prob in grammar.log_probs(line.split())]
    return math.exp(-sum(log_probs) / len(log_probs)), grammar.perplexity_limit()


def _samples(model: TrainedModel, prompt: str) -> list[str]:
    found = model.generate(
        prompt, samples=3, max_tokens=40, stop_at_line_end=True, top_p=0.9, seed=1
    )
    return [item.text.strip() for item in found]
