"""Running text as a task: open it, train a tokenizer on it, and turn it into ids.

The common part of counting (`counting.py`) and neural training (`task.py`). The examples of a
training are the ids of its text.
"""

from abc import abstractmethod
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np

from elman.models import MODELS
from elman.recipes import RunConfig
from elman.tasks.language_modelling.id_files import count_unknown, encode_ids, learn_ids
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.samples import LONGEST, choose_samples
from elman.tasks.saved_runs import check_kind
from elman.tasks.task import Lesson, Task, Told
from elman.tasks.trained import Trained
from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.corpora import Corpus
from elman.text.parsed_text import open_parsed_text
from elman.text.running_text import open_running_text
from elman.text.tokenizer import Tokenizer

_SAMPLED = 1_000_000  # characters of the validation text from which examples are chosen


class TextTask(Task):
    """The tokens of a text."""

    unit = "tokens"
    part = "tokenizer.json"
    trained_class: ClassVar[type[Trained]] = TrainedModel

    def __init__(self, config: RunConfig, tokenizer: Tokenizer) -> None:
        super().__init__(config)
        self.tokenizer = tokenizer

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        return _open(data, config)

    @classmethod
    def open_again(cls, data: str, config: RunConfig) -> Corpus:
        """Skip the check of the format: the text was accepted before."""
        return _open(data, config, checked=True)

    @classmethod
    def prepare(
        cls, corpus: Corpus, config: RunConfig, told: Told, known: Self | None = None
    ) -> Lesson:
        told("tokenizing")
        document = corpus.split("train")
        if known is not None:
            task, ids = known, encode_ids(known.tokenizer, document, told)
        else:
            tokenizer, ids = learn_ids(document, config.text, told)
            text = replace(config.text, tokenizer=tokenizer.name)  # the trained one
            task = cls(replace(config, text=text), tokenizer)
        valid = None
        if "valid" in corpus.documents:
            valid = encode_ids(task.tokenizer, corpus.documents["valid"], told)

        def facts() -> dict[str, Any]:
            data = task.data_facts(corpus, ids)
            if valid is not None:  # to compute bits per byte from a perplexity
                size = corpus.documents["valid"].size
                data |= {"valid_tokens": len(valid), "valid_bytes": size}
            if getattr(getattr(config, "training", None), "checkpoints_at_words", ""):
                data["words_per_epoch"] = corpus.split("train").count_words()
            return {"data": data, "samples": _samples(corpus)}

        return Lesson(task, ids, valid, facts)

    def data_facts(self, corpus: Corpus, ids: Any) -> dict[str, Any]:
        """The facts about the training text that the run stores."""
        document = corpus.split("train")
        empty, sample = document.empty_lines, self.tokenizer.sample
        sources = [*corpus.documents.values(), *([corpus.whole] if corpus.whole else [])]
        return {
            "name": corpus.name,
            "sha256": {source.name: source.sha256() for source in sources},
            "lines": document.lines,
            "empty_lines": empty,
            "tokens": len(ids),
            "unknown_tokens": count_unknown(self.tokenizer, document, ids),
            **({} if sample is None else {"tokenizer_sample": asdict(sample)}),
            "notes": [*corpus.all_notes()]
            + [f"{empty:,} empty lines; each counts as one line end"] * (empty > 0)
            + ([] if sample is None else [sample.note(self.tokenizer.name)]),
        }

    @classmethod
    def is_same_text(cls, corpus: Corpus, facts: dict[str, Any]) -> bool:
        known = facts["data"]["sha256"].values()
        used = [corpus.split("train"), corpus.documents.get("valid")]
        lost = used[1] is None and facts["validation"] is not None
        return not lost and all(document.sha256() in known for document in used if document)

    @classmethod
    def known_from(cls, before: Trained, config: RunConfig) -> Self:
        """The task with the tokenizer of a language model."""
        check_kind(f"--from {before.name}", before.config.kind, TrainedModel)
        return cls(replace(config, text=before.config.text), before.task.tokenizer)

    @abstractmethod
    def quantised(self, model: Any, bits: int) -> dict[str, np.ndarray]:
        """The arrays of a model with shorter numbers, from which `restore_model` makes it."""

    def kept(self) -> dict[str, Any]:
        return tokenizer_to_data(self.tokenizer)

    @classmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        return cls(config, tokenizer_from_data(data))

    def restore_model(self, arrays: dict[str, Any], facts: dict[str, Any]) -> Any:
        model = MODELS.choose(self.config.kind).restore(self.config.model, arrays, facts)
        if len(self.tokenizer) != model.vocabulary_size:
            raise ValueError("tokenizer and weights")
        return model


def _open(data: str, config: RunConfig, *, checked: bool = False) -> Corpus:
    text = config.text
    if text.heads:
        return open_parsed_text(data)
    return open_running_text(
        data,
        labelled=text.labelled,
        plain=text.plain,
        columns=text.columns,
        split=text.split,
        strict=text.strict,
        checked=checked,
    )


def _samples(corpus: Corpus) -> list[dict[str, str]]:
    """Lines of the validation text with a few words, or the beginning of longer ones."""
    valid = corpus.documents.get("valid")
    lines = [] if valid is None else valid.beginning(_SAMPLED).splitlines()
    return choose_samples(lines, lambda line: {"text": _beginning(line)} if " " in line else {})


def _beginning(line: str) -> str:
    return line.strip() if len(line) <= LONGEST else line[: LONGEST // 2].rpartition(" ")[0].strip()
