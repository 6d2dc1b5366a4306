"""A tiny run of every task, and a request for every question: what contract tests go over.

A new task needs a line in `TRAININGS`; requests are made from the fields of its questions.
"""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from facts import write_facts
from films import draw_texts, train_classifier, write_texts
from small_elmo import small_elmo
from tagged import train_tagger, write_tagged
from tiny import train_tiny, write_sentences

import elman
from elman.tasks.question import Question

SENTENCES = ["the cat sees a dog .", "the bird likes a warm film", "Ann"]
# Where the fields alone do not say what makes sense.
REQUESTS: dict[str, dict[str, Any]] = {
    "suggest": {"text": "the"},
    "generate": {"prompt": "the", "max_tokens": 5, "samples": 2, "measure": True},
    "distribution": {"prompt": "the", "top": 3, "temperature": 0.5},
    "inspect": {"view": ["surprisal", "attention"]},
    "answer": {"question": ["Who is here?", "Where?"]},
    "translate": {"texts": ["a b c", "", "c a"], "n_best": 2, "attention": True},
    "classify": {"explain": True},
    "nearest": {"words": "the - a", "top": 3},
}


def _train_answerer(place: Path) -> None:
    small = ["model.num_layers=1", "model.hidden_size=5", "model.embedding_size=4"]
    data = str(write_facts(place / "data", train=8, valid=3))
    elman.train("answerer", data=data, out=place / "run", overrides=[*small, "training.epochs=1"])


def _train_translator(place: Path) -> None:
    small = ["model.hidden_size=8", "model.embedding_size=8", "training.epochs=0.2"]
    corpus = "reverse:lines=400,longest=3,symbols=12"
    elman.train("reverse", data=corpus, out=place / "run", overrides=small)


def _train_classifier(place: Path, *settings: str) -> None:
    data = write_texts(place / "data", train=draw_texts(80, 0), valid=draw_texts(20, 1))
    train_classifier(data, *settings, out=place / "run")


def _train_word_vectors(place: Path) -> None:
    small = ["model.embedding_size=6", "training.min_steps=0", "training.epochs=2"]
    data = str(write_sentences(place / "data"))
    elman.train("word2vec", data=data, out=place / "run", overrides=[*small, "text.min_count=1"])


TRAININGS: dict[str, Callable[[Path], Any]] = {  # each writes place / "run"
    "language-modelling": lambda place: train_tiny(
        write_sentences(place / "data"), place / "run", "model.num_layers=2"
    ),
    "counting": lambda place: elman.train(
        "ngram", data=str(write_sentences(place / "data")), out=place / "run"
    ),
    "tagging": lambda place: train_tagger(write_tagged(place / "data"), place / "run"),
    "classification": _train_classifier,
    "answering": _train_answerer,
    "translation": _train_translator,
    "embedding": lambda place: small_elmo(place).save(place / "run"),
    "word-vectors": _train_word_vectors,
}


# The same tasks with a frozen language model inside, whose vectors they can give.
WITH_ELMO: dict[str, Callable[[Path], Any]] = {
    "tagging-elmo": lambda place: train_tagger(
        write_tagged(place / "data"), place / "run", *_elmo(place)
    ),
    "classification-elmo": lambda place: _train_classifier(place, *_elmo(place)),
}


def _elmo(place: Path) -> list[str]:
    small_elmo(place / "texts")
    return [f"model.elmo={place / 'texts' / 'elmo'}"]


def sample_request(name: str, question: Question) -> dict[str, Any]:
    """Values for a request: those above, and text for every other field that is required."""
    request = {}
    for one in fields(question.request):
        if one.metadata["required"]:
            is_list = str(one.type).startswith("list")
            request[one.name] = SENTENCES if is_list else "\n".join(SENTENCES)
    return request | REQUESTS.get(name, {})
