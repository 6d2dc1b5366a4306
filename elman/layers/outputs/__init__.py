"""Output layers, one per file: from a hidden vector to a distribution over the vocabulary.

Called by the models (`models/neural.py`), which know no more of them than `output.py` says.
"""

from elman.layers.outputs.adaptive import AdaptiveSoftmax
from elman.layers.outputs.augmented import AugmentedSoftmax
from elman.layers.outputs.blackout import BlackOut
from elman.layers.outputs.classes import ClassSoftmax
from elman.layers.outputs.full import FullSoftmax
from elman.layers.outputs.hierarchical import HierarchicalSoftmax
from elman.layers.outputs.maxent import JointMaxent
from elman.layers.outputs.mixture import MixtureOfSoftmaxes
from elman.layers.outputs.noise_contrastive import NoiseContrastive
from elman.layers.outputs.output import Output
from elman.layers.outputs.pointer import PointerSentinel
from elman.layers.outputs.sampled import SampledSoftmax

OUTPUTS: dict[str, type[Output]] = {
    "full": FullSoftmax,
    "adaptive": AdaptiveSoftmax,
    "classes": ClassSoftmax,
    "hierarchical": HierarchicalSoftmax,
    "sampled": SampledSoftmax,
    "nce": NoiseContrastive,
    "blackout": BlackOut,
    "mixture": MixtureOfSoftmaxes,
    "augmented": AugmentedSoftmax,
    "maxent": JointMaxent,
    "pointer": PointerSentinel,
}
