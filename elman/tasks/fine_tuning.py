"""Fine-tuning: start a task from the word vectors and recurrent layers of a language model.

Takes a trained recurrent language model of words and a fresh model of sentences, and copies
weights; called by `sentence_task.py`. Cell and sizes are those of the language model, and its words
become words of the task, so that words that the training data does not have keep their vectors.
Words find their vectors by their spelling. Words that the language model does not know start with
the mean of its vectors, `<unk>` with its vector of `<unk>`.
In a bidirectional model, only the forward direction is copied. If a layer has a wider input than
before (spelling beside the word vector, a second direction below), the additional weights stay
fresh.

`training.unfreeze` and `training.rate_decay` set when layers are unfrozen and their learning rates
(Howard and Ruder 2018).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from elman.errors import InputError
from elman.layers.stack import StackConfig
from elman.models.recurrent import RecurrentModel
from elman.recipes import RunConfig
from elman.tasks.trained import Trained
from elman.text.tokenizer import EOS, UNKNOWN
from elman.text.word_list import WordList

_FEWEST_FOUND = 0.5  # share of the words; below it, something is probably wrong


def layer_settings(before: Trained, new: RunConfig) -> dict[str, Any]:
    """The sections of settings that make room for the layers of a language model."""
    old, model = before.model, new.model
    if not isinstance(old, RecurrentModel) or not isinstance(model, StackConfig):
        return {}  # such a start is refused later
    return {"model": {**_fitting(old.config), "options": old.config.options}}


def vocabulary_of(before: Trained) -> list[str]:
    """The words of a language model, the most frequent first."""
    return _word_tokens(before) if _is_of_words(before) else []


def begin_with(
    before: Trained, config: RunConfig, words: WordList, model: Any, warn: Callable[[str], None]
) -> str:
    """Copy the weights that fit, or refuse with the reason; return a note on the copied part.

    `words`: with those of the language model. `warn` is called if less than half of the words of
    the training data have a vector.
    """
    language_model = before.model
    name = before.name
    if not _is_of_words(before):
        raise InputError(
            f"--from {name}: a {config.kind} can only start from a recurrent language model of "
            "words"
        )
    encoder = getattr(model, "encoder", None)
    if encoder is None or encoder.stack is None:
        raise InputError(
            f"--from {name}: a {config.kind} without recurrent layers over words cannot start from "
            "a language model; leave it out"
        )
    table = language_model.input.table
    if table is None:
        raise InputError(f"--from {name}: that language model has no table of word vectors")
    _compare(name, language_model.config, config.model)
    with torch.no_grad():
        vectors, found = _find_vectors(before, table, words)
        encoder.features.set_vectors(vectors)
        _copy_layers(name, language_model.stack, encoder.stack)
    counts = words.counts
    seen = counts > 0
    known, every = int((found & seen).sum()), int(seen.sum())
    running = counts[found].sum() / max(counts.sum(), 1)
    if known < _FEWEST_FOUND * every:
        warn(
            f"--from {name}: its vocabulary has only {known:,} of the {every:,} words; the others "
            "start from its mean vector. Is its text in the same language, tokenized the same way?"
        )
    return (
        f"{known:,} of {every:,} words ({running:.0%} of the training text) start from the vectors "
        f"of {name}, which adds {len(words) - 1 - every:,} more words"
    )


def _is_of_words(before: Trained) -> bool:
    """Whether it is a recurrent language model of whole words."""
    return isinstance(before.model, RecurrentModel) and before.task.tokenizer.whole_words


def _word_tokens(before: Trained) -> list[str]:
    """The tokens of a language model without marks such as the end of a line."""
    marks = {UNKNOWN, EOS}
    return [token for token in before.task.tokenizer.tokens if token not in marks]


def _fitting(config: Any) -> dict[str, Any]:
    """The settings in which a task must agree with a language model."""
    sizes = [*config.sizes()]
    return {
        "cell": config.cell,
        "num_layers": config.num_layers,
        "embedding_size": config.embedding_size,
        "connection": config.connection,
        "layer_norm": config.layer_norm,
        "hidden_size": sizes[0] if len(set(sizes)) == 1 else sizes,
    }


def _compare(name: str, old: Any, new: Any) -> None:
    """Refuse different sizes and name the settings that would fit."""
    wanted, own = _fitting(old), _fitting(new)
    different = [
        f"--set model.{field}={_written(value)}"
        for field, value in wanted.items()
        if own[field] != value
    ]
    if different:
        raise InputError(f"--from {name}: the layers do not fit; add {' '.join(different)}")


def _written(value: Any) -> str:
    """A value as it is written in a setting, without spaces."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace(" ", "")


def _find_vectors(
    before: Trained, table: torch.Tensor, words: WordList
) -> tuple[torch.Tensor, np.ndarray]:
    """A vector for every word, and which words have their own, without `<unk>`."""
    find = _finder(before.task.tokenizer.tokens, words)
    vectors = table.mean(0).repeat(len(words), 1)
    known = np.zeros(len(words), dtype=bool)
    for number, word in enumerate(words.words):
        found = find(word)
        if found is not None:
            vectors[number] = table[found]
            known[number] = number > 0
    return vectors, known


def _finder(tokens: Sequence[str], words: WordList) -> Callable[[str], int | None]:
    """Looks a word up as it is written, then in lower case, then in the form it mostly has: another
    case, or with digits that the task does not distinguish.

    The tokens of a language model of words come in the order of their frequency.
    """
    ids = {token: number for number, token in enumerate(tokens)}
    any_form: dict[str, int] = {}
    for number, token in enumerate(tokens):
        any_form.setdefault(words.normalise(token).lower(), number)

    def find(word: str) -> int | None:
        lower = word.lower()
        return ids.get(word, ids.get(lower, any_form.get(lower)))

    return find


def _copy_layers(name: str, old: torch.nn.Module, new: torch.nn.Module) -> None:
    """Copy weights by name; for a wider input, only the columns that existed before."""
    own = new.state_dict()
    for key, value in old.state_dict().items():
        place = own.get(key)
        if place is not None and place.shape != value.shape and key.endswith("_input"):
            place = place[:, : value.shape[1]]
        if place is None or place.shape != value.shape:
            raise InputError(
                f"--from {name}: the weights {key} do not fit; try --set model.characters=none "
                "--set model.bidirectional=false and the same --set model.options"
            )
        place.copy_(value)
