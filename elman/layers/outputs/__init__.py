"""Output layers: from a hidden vector to a distribution over the vocabulary.

Called by the models (`models/network.py`), which know no more of them than `output.py` says.
"""

from elman.registry import Registry

OUTPUTS = Registry(
    "output",
    {
        "full": "elman.layers.outputs.full:FullSoftmax",
        "adaptive": "elman.layers.outputs.adaptive:AdaptiveSoftmax",
        "classes": "elman.layers.outputs.classes:ClassSoftmax",
        "hierarchical": "elman.layers.outputs.hierarchical:HierarchicalSoftmax",
        "sampled": "elman.layers.outputs.sampled:SampledSoftmax",
        "nce": "elman.layers.outputs.sampled:NoiseContrastive",
        "blackout": "elman.layers.outputs.sampled:BlackOut",
        "mixture": "elman.layers.outputs.mixture:MixtureOfSoftmaxes",
        "augmented": "elman.layers.outputs.full:AugmentedSoftmax",
        "maxent": "elman.layers.outputs.maxent:JointMaxent",
        "pointer": "elman.layers.outputs.pointer:PointerSentinel",
    },
    group="outputs",
)
