"""Write a language model as one HTML file (`elman export RUN --to page FILE`).

The file has three parts: the model and tokenizer as JSON, the weights as base64, and the runtime.
Strings of the run are data in the JSON part only; `<`, `>`, `&` and the line separators of
JavaScript are escaped there, so no token can end the script or begin another one. A file that ends
in `.js` or `.mjs` gets the same three parts as a module, without the page around them.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import torch

from elman.atomic import replacing
from elman.cells.eight_bits import quantise_rows
from elman.errors import InputError
from elman.formats import Exported
from elman.formats.arpa_writer import is_exportable
from elman.formats.page.step_program import Program, trace_model
from elman.layers.outputs.ngram import NgramOutput
from elman.models.neural import NeuralModel
from elman.models.ngram import NGram
from elman.text.tokenizer import Tokenizer

_RUNTIME = ("program.js", "ngram.js", "corpus_form.js", "tokenizers.js", "session.js", "runtime.js")
_MODULES = (".js", ".mjs")
_TOKENIZERS = ("words", "raw-words", "characters", "bytes", "bpe", "unigram")
_UNSAFE = {
    mark: f"\\u{mark:04x}" for mark in (*map(ord, "<>&\u2028\u2029"), *range(0xD800, 0xE000))
}  # the last ones: halves of characters, which UTF-8 cannot write
_LARGE = 20_000_000  # bytes of a page that phones load slowly


def check(run: Any) -> None:
    """Refuse a run whose tokenizer or kind of model a page cannot have."""
    if run.tokenizer.name not in _TOKENIZERS:
        raise InputError(f"{run.name}: a page has no tokenizer {run.tokenizer.name!r}")
    if isinstance(run.model, NGram):
        if not run.model.always_defined:
            raise InputError("maximum likelihood leaves contexts undefined; a page needs smoothing")
    elif not isinstance(run.model, NeuralModel):
        raise InputError(f"{run.name}: a page holds n-gram and neural language models only")
    elif isinstance(run.model.output, NgramOutput):
        raise InputError(
            "the runtime of a page has no operation to look up n-grams, which this output needs; "
            "train with --set model.output=full"
        )


def write(run: Any, path: Path) -> Exported:
    """Write a run as one HTML file."""
    check(run)
    arrays = _Arrays()
    model = _model_data(run, arrays)
    data = {
        "title": Path(run.name).name,
        "about": _about(run),
        "model": model,
        "tokenizer": tokenizer_data(run.tokenizer),
        "constants": arrays.entries,
    }
    is_module = path.suffix in _MODULES
    written = (_module if is_module else _page)(embedded_json(data), arrays.text())
    try:
        with replacing(path) as temporary:
            temporary.write_text(written, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return Exported(
        f"a {'module' if is_module else 'page'} with {data['about']}",
        {"family": model["family"], "bytes": len(written.encode())},
        _notes(len(written), run, path),
    )


def _page(model: str, weights: str) -> str:
    script = "\n".join(map(_asset, (*_RUNTIME, "view.js")))
    parts = {"css": _asset("view.css"), "script": script, "model": model, "weights": weights}
    return Template(_asset("view.html")).substitute(parts)


def _module(model: str, weights: str) -> str:
    """JSON is parsed from a string: as a literal, a key `__proto__` would be lost."""
    data = [f"const DATA = {embedded_json(model)};", f'const WEIGHTS = "{weights}";']
    return "\n".join([*map(_asset, _RUNTIME), *data, _asset("module.js")])


def embedded_json(data: Any) -> str:
    """JSON that cannot end the script element around it, nor be read as anything but data."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def tokenizer_data(tokenizer: Tokenizer) -> dict[str, Any]:
    """Everything that `tokenizers.js` needs."""
    data = tokenizer.to_data()
    library = json.loads(data.pop("library")) if "library" in data else {}
    return {
        **data,
        **({"model": library["model"]} if library else {}),
        "kind": tokenizer.name,
        "tokens": tokenizer.tokens,
        "eosId": tokenizer.eos_id,
        "unknownId": tokenizer.unknown_id,
        "lowercase": tokenizer.lowercase,
        "spaceBeforeWords": tokenizer.space_before_words,
        "form": tokenizer.normaliser.form,
        "typographic": tokenizer.normaliser.typographic,
        "beginsWord": _flags(tokenizer.begins_word),
    }


def _flags(begins: np.ndarray | None) -> str | None:
    """Which tokens begin a word, as a 0 or 1 for each; None: all of them."""
    return None if begins is None else "".join("01"[each] for each in begins.tolist())


class _Arrays:
    """Arrays in one block of bytes, each with its place."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: np.ndarray) -> int:
        """Add an array: a matrix that was rounded to eight bits as such, others as floats."""
        scales = None
        if array.dtype.kind in "fb" or array.dtype == np.int64:
            array = array.astype(np.float32)
            if array.ndim == 2 and array.size:
                numbers, found = quantise_rows(torch.from_numpy(array))
                if torch.equal(numbers * found[:, None], torch.from_numpy(array)):
                    array, scales = numbers.numpy(), self._store(found.numpy())
        entry = {
            "kind": array.dtype.name,
            "shape": array.shape,
            "place": self._store(array),
            "scales": scales,
        }
        self.entries.append(entry)
        return len(self.entries) - 1

    def _store(self, array: np.ndarray) -> int:
        data = np.ascontiguousarray(array).tobytes()
        place = self._size
        self._parts.append(data + bytes(-len(data) % 4))  # each begins at a multiple of four
        self._size += len(self._parts[-1])
        return place

    def text(self) -> str:
        return base64.b64encode(b"".join(self._parts)).decode()


def _model_data(run: Any, arrays: _Arrays) -> dict[str, Any]:
    if isinstance(run.model, NGram):
        return _ngram_data(run.model, arrays)
    return _neural_data(run.model, arrays)


def _neural_data(model: NeuralModel, arrays: _Arrays) -> dict[str, Any]:
    traced = trace_model(model)
    places = [arrays.add(constant) for constant in traced.constants]
    return {
        "family": "neural",
        "read": _renumbered(traced.read, places),
        "predict": _renumbered(traced.predict, places),
        "begin": [arrays.add(leaf) for leaf in traced.begin],
        "evidence": traced.evidence,
        "eosId": model.eos_id,
        "resetsAtLines": model.resets_at_lines,
    }


def _renumbered(program: Program, places: list[int]) -> dict[str, Any]:
    def moved(part: Any) -> Any:
        if isinstance(part, list):
            return [moved(each) for each in part]
        if isinstance(part, dict) and "c" in part:
            return {"c": places[part["c"]]}
        return part

    steps = [[name, number, moved(parts)] for name, number, parts in program.steps]
    return {"steps": steps, "outputs": moved(program.outputs)}


def _ngram_data(model: NGram, arrays: _Arrays) -> dict[str, Any]:
    """For each order: words, the first n-gram that extends each, log probabilities, weights."""
    tables = model.tables.tables
    small = np.uint16 if model.vocabulary_size < 1 << 16 else np.uint32
    orders = []
    for number, table in enumerate(tables):
        starts = None
        if number + 1 < len(tables):
            above = tables[number + 1].prefixes
            starts = np.searchsorted(above, np.arange(len(table) + 1)).astype(np.uint32)
        numbers = [
            arrays.add(table.words.astype(small)),
            None if starts is None else arrays.add(starts),
            arrays.add(table.log_probs),
            None if starts is None else arrays.add(table.log_backoffs),
        ]
        orders.append(numbers)
    return {"family": "ngram", "orders": orders, "eosId": model.tables.eos_id}


def _about(run: Any) -> str:
    described = run.model.describe()
    words = f"{run.model.vocabulary_size:,} tokens ({run.tokenizer.name})"
    if "ngrams" in described:
        ngrams = f"order {described['order']}, {sum(described['ngrams']):,} n-grams"
        return f"an n-gram model: {ngrams}, {words}"
    name = described.get("cell", described.get("model", run.config.kind))
    return f"a neural model ({name}): {described['parameters']:,} parameters in 8 bits, {words}"


def _notes(size: int, run: Any, path: Path) -> tuple[str, ...]:
    """A remark on files that are slow to load, with what makes them smaller."""
    if size < _LARGE:
        return ()
    slow = f"the file has {size / 1e6:.0f} MB, which phones load slowly"
    if not isinstance(run.model, NGram):
        return (slow,)
    if not is_exportable(run):  # pruning goes through a format that cannot have this model
        settings = ["--set model.order=3"] if run.model.tables.order > 3 else []
        settings += ["--set text.tokenizer=words"] if run.tokenizer.name != "words" else []
        advice = f". For a smaller file, train with {' or '.join(settings)}" if settings else ""
        return (slow + advice,)
    commands = (
        f"elman arpa prune {run.name} --keep 200000 --out small.arpa",
        "elman import small.arpa --out small",
        f"elman export small --to page {path}",
    )
    return ("; ".join([f"{slow}. For a smaller file: {commands[0]}", *commands[1:]]),)


@cache
def _asset(name: str) -> str:
    return (files("elman.formats.page") / name).read_text(encoding="utf-8")
