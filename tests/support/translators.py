"""Small encoder–decoders with fixed sources, for the contract tests."""

from typing import Any

import numpy as np
import torch

from elman.batches.sources import Source, source_of_ids, source_of_vectors
from elman.cells import CELLS
from elman.layers.attentions import ATTENTIONS
from elman.layers.inputs import Material
from elman.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig

COPIES = 2  # unknown words of a source that can be copied
LOOKING = [name for name in ATTENTIONS if name != "none"]
COVERING = [name for name in LOOKING if ATTENTIONS[name].can_cover]
SAME_SIZE = ("mut1", "mut2")  # cells whose inputs are as large as their state
DEEP = {"num_layers": 2, "cell": "gru"}


def _attending(name: str) -> dict[str, Any]:
    """Dot products compare vectors of the same size, so that the encoder reads one way."""
    return {"attention": name, **({"bidirectional": False} if "dot" in name else {})}


VARIANTS: list[dict[str, Any]] = [
    *(_attending(name) for name in LOOKING),
    *({**_attending(name), "attend": "after"} for name in LOOKING),
    *({**_attending(name), "attend": "after", "input_feeding": True} for name in LOOKING),
    *({"attention": name, "coverage": True} for name in COVERING),
    *({"attention": name, "coverage": True, "attend": "after"} for name in COVERING),
    *({"cell": name} for name in CELLS if name not in SAME_SIZE),
    *({"cell": name, "attend": "after"} for name in SAME_SIZE),
    *({"cell": name, "attend": "after", "input_feeding": True} for name in ("lstm", "torch-gru")),
    *({"attention": "none", "context": context} for context in ("every", "start")),
    {"attention": "none", **DEEP, "bidirectional": False},
    {"attention": "bilinear", "bidirectional": False},
    {**DEEP, "connection": "residual", "layer_norm": True, "embedding_size": 12},
    {**DEEP, "connection": "dense", "attend": "after", "input_feeding": True},
    {**DEEP, "layer_norm": True, "attend": "after", "input_feeding": True},
    {"num_layers": 3, "hidden_size": (6, 5, 4)},
    {"num_layers": 2, "encoder_layers": 1, "zoneout": 0.2},
    {"dropout_input": 0.5, "dropout_hidden": 0.5, "dropout_output": 0.5, **DEEP},
    {"tied": False, "readout_size": 5},
    {"output": "pointer", "tied": False},
    {"copy": True, "copy_places": COPIES},
    {"copy": True, "copy_places": COPIES, "attend": "after", **_attending("dot"), "tied": False},
    {"features": 4},
    {"features": 4, "attention": "none", "context": "start"},
    {"shared": True},  # no setting: the source has the target's words
]
# With dropout, for adapters.
BASE: dict[str, Any] = {"cell": "gru", "dropout_input": 0.5, "dropout_output": 0.4}


class Translator(EncoderDecoder):
    """An encoder–decoder with a fixed source."""

    def begin(self, batch_size: int, source: Source | None = None) -> Any:
        if source is None:
            source = one_source(self.config).rows(torch.zeros(batch_size, dtype=torch.long))
        return super().begin(batch_size, source)

    @classmethod
    def restore(cls, config: Any, arrays: Any, facts: Any) -> Any:
        """As the task of translation does: built anew, then the weights are loaded."""
        counts, source_counts = (
            torch.from_numpy(arrays[name].copy()) if name in arrays else None
            for name in ("counts", "source_counts")
        )
        model = cls(config, Material(counts, facts["eos_id"]), source_counts)
        model.load_arrays(arrays)
        return model.eval()


def one_source(config: EncoderDecoderConfig) -> Source:
    """Five words, or three vectors; where words are copied, one that occurs twice is unknown."""
    if config.features:
        drawn = np.random.default_rng(2).normal(size=(3, config.features))
        return source_of_vectors([drawn])
    places = [np.array([3, 7, 4, 7, 8])] if config.copy else None
    return source_of_ids([np.array([3, 5, 4, 5, 1])], 0, places)


def build_translator(
    settings: dict[str, Any], text: np.ndarray, words: list[str], eos_id: int
) -> Translator:
    """A fresh one for so many words; of a model that copies, the last are not in its vocabulary."""
    settings = dict(settings)
    shared = settings.pop("shared", False)
    size = len(words) - (COPIES if settings.get("copy") else 0)
    config = EncoderDecoderConfig(**settings)
    counts = torch.from_numpy(np.bincount(text % size, minlength=size))
    source_counts = None if shared or config.features else torch.ones(6, dtype=torch.int64)
    return Translator(config, Material(counts, eos_id, words[:size], text % size), source_counts)
