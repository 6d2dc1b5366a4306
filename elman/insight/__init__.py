"""Insights into a neural model while it reads a text: gradients, units, attention, vectors.

Takes a model and the ids of a text, gives small dataclasses: `to_data()` is plain data, and
`drawings()` are pictures as data. Called by `tasks/language_modelling/inspection.py`. The studio
(`studio/static/draw.js`) and matplotlib (`figures/`) draw them.
"""

from elman.registry import Registry

INSIGHTS = Registry(
    "insight",
    {
        "surprisal": "elman.insight.surprisal:Surprisal",
        "influence": "elman.insight.influence:Influence",
        "leave-one-out": "elman.insight.influence:LeaveOneOut",
        "gradient-flow": "elman.insight.gradient_flow:GradientFlow",
        "jacobians": "elman.insight.jacobians:Jacobians",
        "units": "elman.insight.units:Units",
        "saturation": "elman.insight.units:Saturation",
        "followers": "elman.insight.followers:Followers",
        "attention": "elman.insight.attention:Attention",
        "nearest-words": "elman.insight.nearest:NearestWords",
        "nearest-contexts": "elman.insight.nearest:NearestContexts",
        "training": "elman.insight.training_record:TrainingRecord",
    },
    group="insights",
)
