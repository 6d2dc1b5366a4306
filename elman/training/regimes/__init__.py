"""Training regimes: which history a model learns to go on from, and what else it is judged by.

A regime turns a batch into the loss of one step; the trainer knows no more of it. Adding one is a
`Regime` and a line in `REGIMES`; its options are the fields of a dataclass beside it, not arguments
of its class as those of a cell are: their values are checked when settings are read, when there is
no model yet that a regime could be made for.

`regime.py` says what a regime is, with teacher forcing, the plainest; `own_words.py` has those that
read the model's own words in part.
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
    """The options in the types that the regime wants; an InputError if they cannot be."""
    kind = REGIMES.choose(regime).options_class
    converted = convert_options(kind, options, f"the regime {regime!r}", OPTIONS)
    kind(**converted)  # which checks what the values may be
    return converted


def make_regime(regime: str, options: dict[str, Any], model: Any) -> Regime:
    """The regime of that name, for a model."""
    kind = REGIMES.choose(regime)
    return kind(kind.options_class(**options), model)
