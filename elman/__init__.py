"""elman: recurrent language models, from counting words to attention.

model = elman.train("ngram", data="grammar", out="runs/grammar")
model = elman.load("runs/grammar")
model.perplexity("boys who Mary chases walk .\\n")

With lists in memory instead of files: `LanguageModel`, `Classifier`, `Tagger`, `Translator`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elman.version import __version__

if TYPE_CHECKING:
    from elman.errors import ElmanError, InputError
    from elman.experiments.reproduce.row import reproduce
    from elman.tasks.classification.estimator import Classifier
    from elman.tasks.comparison import compare
    from elman.tasks.language_modelling.estimator import LanguageModel
    from elman.tasks.language_modelling.trained import TrainedModel
    from elman.tasks.tagging.estimator import Tagger
    from elman.tasks.task import load, plan, train
    from elman.tasks.trained import Trained
    from elman.tasks.translation.estimator import Translator

__all__ = [
    "Classifier",
    "ElmanError",
    "InputError",
    "LanguageModel",
    "Tagger",
    "Trained",
    "TrainedModel",
    "Translator",
    "__version__",
    "compare",
    "load",
    "plan",
    "reproduce",
    "train",
]

# Imported on first use, so that `import elman` and `elman --help` stay fast.
_HOMES = {
    "Classifier": "elman.tasks.classification.estimator",
    "ElmanError": "elman.errors",
    "InputError": "elman.errors",
    "LanguageModel": "elman.tasks.language_modelling.estimator",
    "Tagger": "elman.tasks.tagging.estimator",
    "Trained": "elman.tasks.trained",
    "TrainedModel": "elman.tasks.language_modelling.trained",
    "Translator": "elman.tasks.translation.estimator",
    "compare": "elman.tasks.comparison",
    "load": "elman.tasks.task",
    "plan": "elman.tasks.task",
    "reproduce": "elman.experiments.reproduce.row",
    "train": "elman.tasks.task",
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'elman' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)
