"""From data to trained models and their answers: one path for all tasks, and a folder for each.

`TASKS` lists every task with its location and its questions, without importing anything. The folder
of a task contains `task.py` (data, batches, model), `questions.py` (its questions) and the code
that only this task needs. A new task is a folder, a recipe and a line here.
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
    questions: dict[str, str] = field(default_factory=dict)  # each with its summary, one sentence

    def load(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)

    def load_questions(self) -> dict[str, Any]:
        """The questions by name, from `questions.py` next to the task."""
        folder = self.place.partition(":")[0].rpartition(".")[0]
        found: dict[str, Any] = import_module(f"{folder}.questions").QUESTIONS
        return found


_EMBED = {"embed": "Compute a vector for every word of a text, in the context of its line."}
_OF_LANGUAGE_MODELS = {
    "suggest": "Suggest the next words, like a phone keyboard.",
    "surprisal": "Compute the surprisal, entropy and rank of every word in a text.",
    "score": "Score a text: perplexity, bits per character and bits per byte.",
    "distribution": "Show the next-token distribution, before and after the decoding options.",
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
            "predict the next token by counting n-grams",
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
            {"classify": "Classify texts: the best label of each, with its probability.", **_EMBED},
        ),
        "answering": TaskEntry(
            "the part of a passage that answers a question",
            "elman.tasks.answering.task:Answering",
            {"answer": "Find the part of a passage that answers a question.", **_EMBED},
        ),
        "translation": TaskEntry(
            "an output text for a source: translations, summaries, captions",
            "elman.tasks.translation.task:Translation",
            {"translate": "Translate texts, or write summaries or captions for them."},
        ),
        "embedding": TaskEntry(
            "contextual vectors of words (ELMo)",
            "elman.tasks.embedding.task:Embedding",
            _EMBED,
        ),
        "word-vectors": TaskEntry(
            "one vector per word (word2vec)",
            "elman.tasks.word_vectors.task:WordVectors",
            {"nearest": "Find the words nearest to a word, or solve an analogy.", **_EMBED},
        ),
    },
    group="tasks",
)
