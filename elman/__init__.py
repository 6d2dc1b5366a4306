"""elman: recurrent language models, from counting words to attention.

model = elman.train("ngram", data="grammar", out="runs/grammar")
model = elman.load("runs/grammar")
model.perplexity("boys who Mary chases walk .\\n")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elman.version import __version__

if TYPE_CHECKING:
    from elman.errors import ElmanError, InputError
    from elman.tasks.estimators import Classifier, Tagger
    from elman.tasks.language_modelling.comparison import compare
    from elman.tasks.language_modelling.trained import TrainedModel
    from elman.tasks.task import load, train
    from elman.tasks.trained import Trained

__all__ = [
    "Classifier",
    "ElmanError",
    "InputError",
    "Tagger",
    "Trained",
    "TrainedModel",
    "__version__",
    "compare",
    "load",
    "train",
]

# Imported on first use, so that `import elman` and `elman --help` stay fast.
_HOMES = {
    "Classifier": "elman.tasks.estimators",
    "ElmanError": "elman.errors",
    "InputError": "elman.errors",
    "Tagger": "elman.tasks.estimators",
    "Trained": "elman.tasks.trained",
    "TrainedModel": "elman.tasks.language_modelling.trained",
    "compare": "elman.tasks.language_modelling.comparison",
    "load": "elman.tasks.task",
    "train": "elman.tasks.task",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'elman' has no attribute {name!r}")
    home, _, inside = _HOMES[name].partition(":")
    return getattr(import_module(home), inside or name)
