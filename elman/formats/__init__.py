"""File formats of other programs: ARPA tables, vectors as safetensors or text, and more.

They convert arrays to files and back; tasks wrap the results into runs. `EXPORTS` lists the formats
of `elman export` without importing anything. A new format is a file here with a function
`write(run, path) -> Exported`, and a line in `EXPORTS`.
"""

from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from elman.errors import InputError


@dataclass(frozen=True)
class Exported:
    """What `export` has written."""

    about: str  # in a few words
    data: dict[str, Any]  # the same as plain data
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportFormat:
    """A format of `elman export`, before it is imported."""

    about: str
    place: str  # module:function; it takes a run and a path, and gives `Exported`
    needs: tuple[str, ...] = ()  # the attributes of a run that it reads; other runs are refused
    guessed: bool = False  # used without --to, if the run has what the format needs
    folder: bool = False  # writes a folder instead of a file
    packages: tuple[str, ...] = ()  # that must be installed
    extra: str = ""  # of elman, with these packages

    def takes(self, run: Any) -> bool:
        """Whether a run has everything that the format needs."""
        return all(_has(run, name) for name in self.needs)

    def write(self, run: Any, path: Path) -> Exported:
        """Write a run; the path was checked before."""
        missing = [package for package in self.packages if find_spec(package) is None]
        if missing:
            raise InputError(
                f"{path}: this format needs {', '.join(missing)}: pip install 'elman[{self.extra}]'"
            )
        module, _, name = self.place.partition(":")
        written: Exported = getattr(import_module(module), name)(run, path)
        return written


def _has(run: Any, dotted: str) -> bool:
    missing = object()
    found = reduce(lambda of, name: getattr(of, name, missing), dotted.split("."), run)
    return found is not missing


EXPORTS = {
    "arpa": ExportFormat(
        "n-gram models as text, for KenLM, SRILM and others",
        "elman.formats.arpa_writer:write",
        needs=("model.tables", "tokenizer.tokens"),
        guessed=True,
    ),
    "vectors": ExportFormat(
        "word vectors in the text format of word2vec, for gensim, spaCy and others",
        "elman.formats.word_vectors:write",
        needs=("words", "table"),
        guessed=True,
    ),
    "pyctcdecode": ExportFormat(
        "the folder of an n-gram model that pyctcdecode loads, for speech recognisers",
        "elman.formats.pyctcdecode:write",
        needs=("model.tables", "tokenizer.tokens"),
        folder=True,
    ),
    "page": ExportFormat(
        "one HTML file with suggestions and surprisal while typing, offline",
        "elman.formats.page.writer:write",
        needs=("model.predict", "tokenizer.tokens"),
    ),
    "huggingface": ExportFormat(
        "a folder for transformers: language models, classifiers, taggers, ELMo",
        "elman.formats.huggingface:write",
        needs=("model",),
        folder=True,
    ),
    "onnx": ExportFormat(
        "ONNX graphs of language models, classifiers, taggers, ELMo, translation and answers",
        "elman.formats.onnx_export:write",
        needs=("model",),
        folder=True,
        packages=("onnx", "onnxscript", "onnxruntime"),
        extra="onnx",
    ),
}


def describe_exports() -> dict[str, str]:
    """The formats of `elman export` by name, each with its description."""
    return {name: format_.about for name, format_ in EXPORTS.items()}
