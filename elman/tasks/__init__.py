"""From data to trained models and their answers: one path for all tasks, and a folder for each.

`TASKS` says, without importing anything, which tasks there are, where each lives and what can be
asked of it. A folder has `task.py` (data, batches, model), `questions.py` (what can be asked), and
what only this task needs. A new task is a folder, a recipe and a line here.
"""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from elman.registry import Registry


@dataclass(frozen=True)
class TaskEntry:
    """A task, before it is imported."""

    about: str
    place: str  # of its class: module:name
    questions: dict[str, str] = field(default_factory=dict)  # and what each does, in one sentence

    def load(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)

    def load_questions(self) -> dict[str, Any]:
        """What can be asked, by name: `questions.py` beside the task."""
        folder = self.place.partition(":")[0].rpartition(".")[0]
        found: dict[str, Any] = import_module(f"{folder}.questions").QUESTIONS
        return found


_EMBED = {"embed": "Give the vectors of every word of a text, each in its line."}
_OF_LANGUAGE_MODELS = {
    "suggest": "Suggest the next words, like a phone keyboard.",
    "surprisal": "Give surprisal, entropy and rank of every word of a text.",
    "score": "Measure a text: perplexity, bits per character and per byte.",
    "distribution": "Show the distribution of the next token, before and after the options of "
    "decoding.",
    "generate": "Continue a prompt.",
    "explain": "Explain the probabilities of a count model, order by order.",
    "inspect": "Look inside a neural model while it reads a text.",
    **_EMBED,
}

TASKS = Registry(
    "task",
    {
        "language-modelling": TaskEntry(
            "predict the next token of running text",
            "elman.tasks.language_modelling.task:LanguageModelling",
            _OF_LANGUAGE_MODELS,
        ),
        "counting": TaskEntry(
            "the same by counting n-grams",
            "elman.tasks.language_modelling.counting:Counting",
            _OF_LANGUAGE_MODELS,
        ),
        "tagging": TaskEntry(
            "a tag for every word",
            "elman.tasks.tagging.task:Tagging",
            {"tag": "Tag every word of a text.", **_EMBED},
        ),
        "classification": TaskEntry(
            "a label for a text, or for a pair of texts",
            "elman.tasks.classification.task:Classification",
            {"classify": "Find the likeliest label of each text, with its probability.", **_EMBED},
        ),
        "answering": TaskEntry(
            "the part of a passage that answers a question",
            "elman.tasks.answering.task:Answering",
            {"answer": "Find the part of a passage that answers a question.", **_EMBED},
        ),
        "translation": TaskEntry(
            "a text for a source: translations, summaries, captions",
            "elman.tasks.translation.task:Translation",
            {"translate": "Translate texts, or write whatever the run learned to write for them."},
        ),
        "embedding": TaskEntry(
            "vectors of words in their sentences (ELMo)",
            "elman.tasks.embedding.task:Embedding",
            _EMBED,
        ),
    },
    group="tasks",
)
