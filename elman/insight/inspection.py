"""Reports of insights by name, for one model or several.

Made by `tasks/language_modelling/inspection.py`; drawn by `figures/inspection.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from elman.insight.gradient_flow import GradientFlow, side_by_side
from elman.insight.insight import Drawing, Insight
from elman.insight.remembering import Remembering, draw_remembering


@dataclass(frozen=True)
class Inspection:
    """The insights into one model."""

    name: str
    model: dict[str, Any]  # description of the model
    text: str  # the part that was read
    tokens: int
    left_out: int  # tokens of the text beyond the limit
    insights: dict[str, Insight]
    unseen: dict[str, str]  # missing insight to the reason
    unknown: list[str] = field(default_factory=list)  # out-of-vocabulary words of the text

    def to_data(self) -> dict[str, Any]:
        """Plain data: every insight with its numbers, its pictures as data, and its sentences."""
        insights = {
            name: {
                "about": insight.about,
                "summary": insight.summary(),
                "data": insight.to_data(),
                "drawings": [drawing.to_data() for drawing in insight.drawings()],
            }
            for name, insight in self.insights.items()
        }
        return {**vars(self), "insights": insights}


@dataclass(frozen=True)
class SideBySide:
    """Several models on one text; after training on `tickets`, also their memory by distance."""

    inspections: list[Inspection]
    remembering: dict[str, Remembering] = field(default_factory=dict)  # by name of the model

    def drawings(self) -> list[Drawing]:
        """Pictures that compare the models: their memory and their gradient flow."""
        flows = {
            one.name: flow
            for one in self.inspections
            if isinstance(flow := one.insights.get("gradient-flow"), GradientFlow)
        }
        remembered = [draw_remembering(self.remembering)] if self.remembering else []
        return [*remembered, *(side_by_side(flows) if len(flows) > 1 else [])]

    def to_data(self) -> dict[str, Any]:
        remembering = {name: one.to_data() for name, one in self.remembering.items()}
        return {
            "runs": [one.to_data() for one in self.inspections],
            "drawings": [drawing.to_data() for drawing in self.drawings()],
            **({"remembering": remembering} if remembering else {}),
        }
