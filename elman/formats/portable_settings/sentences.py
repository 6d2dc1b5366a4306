"""The settings and weights of models over words: classifiers, taggers, answerers, ELMo."""

from __future__ import annotations

from typing import Any, cast

import torch

from elman.errors import InputError
from elman.formats.portable_settings.describing import (
    Weights,
    describe,
    direction_settings,
    renamed,
    stack_settings,
)
from elman.layers.elmo import Contextual
from elman.layers.encoders import SentenceEncoder
from elman.layers.ngram_scores import NgramScores
from elman.layers.tag_outputs import ConditionalField
from elman.layers.word_features import (
    Affixes,
    Filters,
    RecurrentSpelling,
    Spelling,
    WordFeatures,
)
from elman.models.answerer import Answerer
from elman.models.bidirectional import BidirectionalModel
from elman.models.classifier import Classifier
from elman.models.tagger import Tagger
from elman.models.word2vec import Word2Vec

_PORTABLE_SPELLINGS = ("cnn", "affixes", "rnn")


@describe.register
def _(model: Classifier) -> tuple[dict[str, Any], Weights]:
    settings, weights = _encoder(model.encoder)
    texts = 1 if model.scores.in_features == model.pooling.output_size else 2
    settings |= {
        "family": "classifier",
        "labels": model.scores.out_features,
        "pooling": model.config.pooling,
        "several": model.several,
        "directions": model.pooling.directions,
        "texts": texts,
        "ngram_table": model.config.ngrams,
    }
    settings["reads_characters"] |= bool(model.config.ngrams)
    names = {
        "scores.": "scores.",
        "pooling.key.": "key.",
        "pooling.query": "query",
        "ngrams.": "ngrams.",
    }
    return settings, weights | _with_mix(model, renamed(model, names))


def _with_mix(model: Classifier, weights: Weights) -> Weights:
    """The weights of the scores of labels, multiplied as the mix of the model says."""
    unused = (".ratios", ".weights", ".bias")
    found = {
        name: value
        for name, value in weights.items()
        if not (name.startswith("ngrams.") and name.endswith(unused))
    }
    network, fitted, naive_bayes = model.mix or (1.0, 0.0, 0.0)
    found |= {name: network * found[name] for name in ("scores.weight", "scores.bias")}
    for number, part in enumerate(model.ngrams):
        assert isinstance(part, NgramScores)
        of_part, bias = part.mixed(fitted, naive_bayes)
        found[f"ngrams.{number}.vectors.weight"] = of_part
        found["scores.bias"] = found["scores.bias"] + bias
    return found


@describe.register
def _(model: Tagger) -> tuple[dict[str, Any], Weights]:
    settings, weights = _encoder(model.encoder)
    settings |= {
        "family": "tagger",
        "labels": model.scores.out_features,
        "crf": isinstance(model.output, ConditionalField),
        "linear": 0 if model.linear is None else model.config.linear,
        "written": 0,
    }
    settings["reads_characters"] |= model.linear is not None
    names = {"scores.": "scores.", "output.": "", "linear.": "linear."}
    return settings, weights | renamed(model, names)


@describe.register
def _(model: Answerer) -> tuple[dict[str, Any], Weights]:
    settings, weights = _features(model.features, model.contextual)
    config = model.config
    settings |= {
        "family": "answerer",
        "question": stack_settings(model.question, config.cell, config.connection),
        "passage": stack_settings(model.passage, config.cell, config.connection),
        "question_size": model.pointers.start.in_features,
        "passage_size": model.pointers.start.out_features,
    }
    names = {
        "alignment.key.": "align.",
        "question.": "question.",
        "passage.": "passage.",
        "pooling.": "",
        "pointers.": "",
    }
    return settings, weights | renamed(model, names)


@describe.register
def _(model: BidirectionalModel) -> tuple[dict[str, Any], Weights]:
    config = model.config
    softmax = model.softmax
    settings = {
        "family": "bidirectional",
        "vocabulary_size": 1 if softmax is None else softmax.vocabulary_size - 2,
        "reads_characters": True,
        "hidden_size": model.size,
        "residual": config.residual,
        "characters": {
            "character_size": config.character_size,
            "widths": list(config.widths),
            "filters": list(config.filters),
            "highways": config.highways,
            "longest": config.longest,
            "projection": config.projection,
        },
        "readers": [
            [direction_settings(layer, "lstm") for layer in cast("Any", reader).stack]
            for reader in model.readers
        ],
    }
    characters = model.characters
    marks = torch.full((2, config.longest), 261)  # padding
    marks[:, :3] = characters.boundaries
    weights = renamed(model, {"characters.": "characters.", "readers.": "readers."})
    weights["characters.translation"] = characters.translation.clone()
    weights["characters.boundaries"] = marks
    return settings, weights


@describe.register
def _(model: Word2Vec) -> tuple[dict[str, Any], Weights]:
    raise InputError(
        "word2vec is a table of vectors, not a network that reads text; use: elman export RUN "
        "--to vectors FILE"
    )


def _encoder(encoder: SentenceEncoder) -> tuple[dict[str, Any], Weights]:
    """The settings of an encoder of words, and its weights."""
    settings, weights = _features(encoder.features, encoder.contextual)
    config, stack = encoder.config, encoder.stack
    settings |= {
        "hidden_size": encoder.size,
        "temperature": 1.0,
        "window": config.window if stack is None else None,
        "window_size": 0 if encoder.window is None else encoder.window.out_features,
        "layers": [] if stack is None else stack_settings(stack, config.cell, config.connection),
    }
    return settings, weights | renamed(encoder, {"window.": "window.", "stack.": "stack."})


def _features(
    features: WordFeatures, contextual: Contextual | None
) -> tuple[dict[str, Any], Weights]:
    """The settings of word features, and their weights."""
    if features.columns is not None:
        raise InputError(
            "a tagger with further columns (text.features) cannot be written in this format: a "
            "tokenizer gives words only"
        )
    tables = [features.vectors.weight, *([] if features.unseen is None else [features.unseen])]
    table = torch.cat([part.detach() for part in tables])
    spelling = _spelling(features.spelling)
    settings: dict[str, Any] = {
        "vocabulary_size": len(table),
        "embedding_size": table.shape[1],
        "input_size": features.size,
        "spelling": spelling,
        "contextual": None,
        "reads_characters": spelling is not None,
    }
    weights = {"input.weight": table}
    if spelling is not None:
        weights |= renamed(features, {"spelling.": "spelling."})
    if contextual is not None:
        model, inner = describe(contextual.model)
        settings["contextual"] = {
            "model": model,
            "uses": len(contextual.mixes),
            "layer_norm": contextual.mixes[0].layer_norm,
        }
        settings["reads_characters"] = True
        weights |= {f"contextual.model.{name}": weight for name, weight in inner.items()}
        weights |= renamed(contextual, {"mixes.": "contextual.mixes."})
    return settings, weights


def _spelling(spelling: Spelling) -> dict[str, Any] | None:
    """The settings of the vectors from characters; None: there are none."""
    if not spelling.size:
        return None
    size = spelling.vectors.embedding_dim
    if type(spelling) is Filters:
        return {"kind": "cnn", "character_size": size, "size": spelling.filters.out_features}
    if type(spelling) is Affixes:
        return {
            "kind": "affixes",
            "character_size": size,
            "size": spelling.filters.out_features,
            "affixes": spelling.affix_vectors.num_embeddings,
        }
    if type(spelling) is RecurrentSpelling:
        layers = stack_settings(spelling.stack, "lstm", "none")
        return {"kind": "rnn", "character_size": size, "layers": layers}
    raise InputError(
        f"the spelling {type(spelling).__name__} cannot be written in this format: portable models "
        f"have {', '.join(_PORTABLE_SPELLINGS)}; train with --set model.characters=affixes"
    )
