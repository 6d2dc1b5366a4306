"""Training regimes: the history that a model reads in training, and further losses.

A regime turns a batch into the loss of one step; the trainer needs no more. To add one, write a
`Regime` and a line in `REGIMES`. Its options are the fields of a separate dataclass, not arguments
of its class as for a cell: they are checked when settings are read, before there is a model.

`regime.py` defines the interface, and teacher forcing, the simplest regime; `own_words.py` has the
regimes that read some of the model's own words.
"""

from __future__ import annotations

from typing import Any

from elman.registry import Registry, convert_options
from elman.training.regimes.regime import OPTIONS, Regime

REGIMES = Registry(
    "regime",
    {
        "teacher-forcing": "elman.training.regimes.regime:TeacherForcing",
        "free-running": "elman.training.regimes.own_words:FreeRunning",
        "scheduled-sampling": "elman.training.regimes.own_words:ScheduledSampling",
        "professor-forcing": "elman.training.regimes.professor_forcing:ProfessorForcing",
        "minimum-risk": "elman.training.regimes.minimum_risk:MinimumRisk",
    },
    group="regimes",
)


def check_options(regime: str, options: dict[str, Any]) -> dict[str, Any]:
    """Convert the options to the types of the regime; raises an InputError if that fails."""
    kind = REGIMES.choose(regime).options_class
    converted = convert_options(kind, options, f"the regime {regime!r}", OPTIONS)
    kind(**converted)  # checks the values
    return converted


def make_regime(regime: str, options: dict[str, Any], model: Any) -> Regime:
    """Create the regime of that name for a model."""
    kind = REGIMES.choose(regime)
    return kind(kind.options_class(**options), model)
