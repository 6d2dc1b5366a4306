"""Output layers: turn a hidden vector into a distribution over the vocabulary.

Called by the models (`models/network.py`), which use only the interface in `output.py`.
"""

from elman.registry import Registry

OUTPUTS = Registry(
    "output",
    {
        "full": "elman.layers.outputs.full:FullSoftmax",
        "adaptive": "elman.layers.outputs.factored:AdaptiveSoftmax",
        "classes": "elman.layers.outputs.factored:ClassSoftmax",
        "hierarchical": "elman.layers.outputs.factored:HierarchicalSoftmax",
        "sampled": "elman.layers.outputs.sampled:SampledSoftmax",
        "nce": "elman.layers.outputs.sampled:NoiseContrastive",
        "blackout": "elman.layers.outputs.sampled:BlackOut",
        "mixture": "elman.layers.outputs.full:MixtureOfSoftmaxes",
        "augmented": "elman.layers.outputs.full:AugmentedSoftmax",
        "maxent": "elman.layers.outputs.maxent:JointMaxent",
        "ngram-residual": "elman.layers.outputs.ngram:NgramResidual",
        "ngram-mixture": "elman.layers.outputs.ngram:NgramMixture",
        "pointer": "elman.layers.outputs.pointer:PointerSentinel",
    },
    group="outputs",
)
