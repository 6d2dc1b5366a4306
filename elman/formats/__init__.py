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
    check: str = ""  # module:function; it refuses a run that the format cannot express

    def takes(self, run: Any) -> bool:
        """Whether a run has everything that the format needs."""
        return all(_has(run, name) for name in self.needs)

    def expresses(self, run: Any) -> bool:
        """Whether the format can express a run, as far as that is known before writing."""
        try:
            self._check(run)
        except InputError:
            return False
        return self.takes(run)

    def write(self, run: Any, path: Path) -> Exported:
        """Write a run; the path was checked before."""
        missing = [package for package in self.packages if find_spec(package) is None]
        if missing:
            self._check(run)  # before an installation that would not help
            raise InputError(
                f"this format needs {', '.join(missing)}; install: pip install "
                f"'elman[{self.extra}]'"
            )
        written: Exported = _imported(self.place)(run, path)
        return written

    def _check(self, run: Any) -> None:
        if self.check and self.takes(run):
            _imported(self.check)(run)


def _imported(place: str) -> Any:
    """The function of `module:function`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


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
        check="elman.formats.arpa_writer:check",
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
        check="elman.formats.pyctcdecode:check",
    ),
    "page": ExportFormat(
        "one HTML file with suggestions and surprisal while typing, offline",
        "elman.formats.page.writer:write",
        needs=("model.predict", "tokenizer.tokens"),
        check="elman.formats.page.writer:check",
    ),
    "huggingface": ExportFormat(
        "a folder for transformers: language models, classifiers, taggers, ELMo",
        "elman.formats.huggingface:write",
        needs=("model",),
        folder=True,
        check="elman.formats.huggingface:check",
    ),
    "onnx": ExportFormat(
        "ONNX graphs of language models, classifiers, taggers, ELMo, translation and answers",
        "elman.formats.onnx_export:write",
        needs=("model",),
        folder=True,
        packages=("onnx", "onnxscript", "onnxruntime"),
        extra="onnx",
        check="elman.formats.onnx_check:check",
    ),
}


def describe_exports() -> dict[str, str]:
    """The formats of `elman export` by name, each with its description."""
    return {name: format_.about for name, format_ in EXPORTS.items()}
