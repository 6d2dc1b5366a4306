"""Fine-tuning: start a task from the word vectors and recurrent layers of a language model.

Takes a trained recurrent language model of words and a fresh model of sentences, and copies
weights; called by `sentence_task.py`. Words find their vectors by their spelling. Words that the
language model does not know start with the mean of its vectors, `<unk>` with its vector of `<unk>`.
In a bidirectional model, only the forward direction is copied. If a layer has a wider input than
before (spelling beside the word vector, a second direction below), the additional weights stay
fresh.

`training.unfreeze` and `training.rate_decay` set when layers are unfrozen and their learning rates
(Howard and Ruder 2018).
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from elman.errors import InputError
from elman.models.recurrent import RecurrentModel
from elman.recipes import RunConfig
from elman.tasks.trained import Trained
from elman.text.tokenizer import UNKNOWN
from elman.text.word_list import WordList

_FEWEST_FOUND = 0.5  # share of the words; below it, something is probably wrong


def begin_with(
    before: Trained, config: RunConfig, words: WordList, model: Any, warn: Callable[[str], None]
) -> str:
    """Copy the weights that fit, or refuse with the reason; return a note on the copied part.

    `warn` is called if less than half of the words have a vector.
    """
    language_model = before.model
    name = before.name
    if not isinstance(language_model, RecurrentModel) or not before.task.tokenizer.whole_words:
        raise InputError(
            f"--from {name}: a {config.kind} can begin with a recurrent language model of "
            "words only"
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
        found = _copy_vectors(before, table, words, encoder.features.vectors.weight)
        _copy_layers(name, language_model.stack, encoder.stack)
    known, every = len(found), len(words) - 1  # without the unknown word
    counts = words.counts
    running = counts[found].sum() / max(counts.sum(), 1)
    note = (
        f"{known:,} of {every:,} words ({running:.0%} of the running words) begin with their "
        f"vectors of {name}"
    )
    if known < _FEWEST_FOUND * every:
        warn(
            f"--from {name}: it knows only {known:,} of the {every:,} words; the others begin "
            "alike. Was it trained on text of the same language, tokenized alike?"
        )
    return note


def _compare(name: str, old: Any, new: Any) -> None:
    """Refuse different sizes and name the settings that would fit."""
    wanted: dict[str, Any] = {"cell": old.cell, "num_layers": old.num_layers}
    wanted |= {"embedding_size": old.embedding_size, "connection": old.connection}
    own = {field: getattr(new, field) for field in wanted}
    wanted["hidden_size"], own["hidden_size"] = _sizes(old), _sizes(new)
    different = [
        f"--set model.{field}={value}" for field, value in wanted.items() if own[field] != value
    ]
    if different:
        raise InputError(f"--from {name}: the layers do not fit; add {' '.join(different)}")


def _sizes(config: Any) -> str:
    """Of its layers, as a setting is written without spaces: one number where all are alike."""
    sizes = [*config.sizes()]
    alike = len(set(sizes)) == 1
    return str(sizes[0]) if alike else "[" + ",".join(map(str, sizes)) + "]"


def _copy_vectors(
    before: Trained, table: torch.Tensor, words: WordList, vectors: torch.Tensor
) -> list[int]:
    """Vectors of words by their spelling; the numbers of words that were found."""
    find = _finder(before.task.tokenizer.tokens)
    vectors.copy_(table.mean(0))
    known = []
    for number, word in enumerate(words.words):
        found = find(word)
        if found is not None:
            vectors[number] = table[found]
            known += [number] if word != UNKNOWN else []
    return known


def _finder(tokens: Sequence[str]) -> Callable[[str], int | None]:
    """Looks a word up as it is written, then in lower case, then in the case it mostly has.

    The tokens of a language model of words come in the order of their frequency.
    """
    ids = {token: number for number, token in enumerate(tokens)}
    any_case: dict[str, int] = {}
    for number, token in enumerate(tokens):
        any_case.setdefault(token.lower(), number)

    def find(word: str) -> int | None:
        lower = word.lower()
        return ids.get(word, ids.get(lower, any_case.get(lower)))

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
