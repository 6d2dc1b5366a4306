"""What happens inside a neural model while it reads: gradients, units, attention, vectors.

Takes a model and the ids of a text, gives small dataclasses whose `to_data()` is plain data and
whose `drawings()` are pictures as data; called by `tasks/language_modelling/inspection.py`. They
are drawn in the page (`studio/static/draw.js`) and with matplotlib (`figures/`).
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
