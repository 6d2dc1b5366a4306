"""The encoder–decoder: a language model of targets, given what they are said of (a source).

    source ── encoder ── values, summary ──┐ attention
    <eos> y_1 y_2 …  ── decoder ───────────┴── r_1 r_2 … ── output ── p(y_i | y_1 … y_{i-1}, source)

(Cho et al. 2014; Sutskever et al. 2014; with attention Bahdanau et al. 2015 and Luong et al. 2015.)
It keeps the contract: `start(batch_size, source)` encodes the source, and the state carries it
along, so that reading, scoring and decoding need to know nothing of it. Where a target ends, the
same source begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch

from elman.batches.sources import Source
from elman.errors import InputError
from elman.layers.decoder import CONTEXTS, Decoder, DecoderConfig, Encoded, Progress
from elman.layers.dropout import draw_masks_anew, dropout, locked_dropout
from elman.layers.inputs import Material
from elman.layers.inputs.words import WordVectors
from elman.layers.padding import real_tokens
from elman.layers.source_encoder import TextEncoder, VectorEncoder
from elman.layers.stack import StackConfig
from elman.models.neural import NeuralModel
from elman.models.neural_config import NeuralConfig
from elman.state import State, replace_rows
from elman.text.task_config import PairConfig


@dataclass(kw_only=True)
class EncoderDecoderConfig(NeuralConfig, StackConfig, DecoderConfig):
    """Recurrent layers that read a source, others that write of it, and what is between them."""

    contexts: ClassVar[tuple[str, ...]] = CONTEXTS
    context: str = "every"  # without attention: to every step, or only to start the decoder
    bidirectional: bool = True  # the encoder reads in both directions
    encoder_layers: int = 0  # of the encoder; 0: as many as the decoder has
    features: int = 0  # numbers per vector, where sources are given vectors; 0: sources are text

    def __post_init__(self) -> None:
        NeuralConfig.__post_init__(self)
        StackConfig.__post_init__(self)
        DecoderConfig.__post_init__(self)
        for name in ("encoder_layers", "features"):
            if getattr(self, name) < 0:
                raise InputError(f"model.{name}={getattr(self, name)}: must not be negative")
        if self.encoder_layers and isinstance(self.hidden_size, tuple):
            raise InputError(
                "model.encoder_layers: with a list as hidden_size both have its layers"
            )

    def encoder_stack(self) -> StackConfig:
        """The layers of the encoder."""
        return replace(self._stack(), num_layers=self.encoder_layers or self.num_layers)

    def decoder_stack(self) -> StackConfig:
        """Those of the decoder; what they hand on is dropped after the readout only."""
        return replace(self._stack(), bidirectional=False, dropout_output=0.0)

    def _stack(self) -> StackConfig:
        return StackConfig(**{each.name: getattr(self, each.name) for each in fields(StackConfig)})


class EncoderDecoder(NeuralModel):
    """Says in other words what a source says."""

    command: ClassVar[str] = "translate"
    text_class: ClassVar[type] = PairConfig
    about = "reads a source, and writes of it word by word, looking back at it"
    config_class = EncoderDecoderConfig
    config: EncoderDecoderConfig

    def __init__(
        self,
        config: EncoderDecoderConfig,
        material: Material,
        source_counts: torch.Tensor | None = None,
    ) -> None:
        """`source_counts`: of the source's tokens; None: they are the target's, or vectors."""
        super().__init__(config, material)
        self.resets_at_lines = True
        self.encoder: TextEncoder | VectorEncoder
        self.source_input: WordVectors | None = None
        if config.features:
            size = config.sizes()[-1]
            self.encoder = VectorEncoder(config.features, size, config.dropout_output)
        else:
            if source_counts is not None:
                self.register_buffer("source_counts", source_counts)
                self.source_input = _word_vectors(source_counts, material.eos_id, config)
            embedded = self.input if self.source_input is None else self.source_input
            self.encoder = TextEncoder(embedded.size, config.encoder_stack())
        readout = config.readout_size or config.embedding_size
        self.decoder = Decoder(
            self.input.size, self.encoder.size, readout, config, config.decoder_stack()
        )
        self.has_attention = self.decoder.looks
        self.add_output(readout)

    # The beginning --------------------------------------------------------------------------------

    def begin_encoding(self, batch_size: int) -> State:
        return self.encode_source(self._nothing(batch_size))

    def begin(self, batch_size: int, source: Source | None = None) -> State:
        """The source encoded, and nothing of the target read; without a source, an empty one."""
        if source is None:
            source = self._nothing(batch_size)
        if len(source) != batch_size:
            raise ValueError(f"{batch_size} rows, but {len(source)} sources")
        draw_masks_anew()
        return self.encode_source(source), self.output.begin(batch_size)

    def encode_source(self, source: Source) -> State:
        """What the decoder knows of sources, and its state before the first word."""
        source = source.to(self.counts.device)
        embed = self.input if self.source_input is None else self.source_input
        values, summary = self.encoder(source, embed)
        places = source.lengths.new_zeros(len(source), 0)
        encoded = Encoded(
            values,
            self.decoder.prepare(values),
            real_tokens(values, source.lengths),
            summary,
            places,
        )
        return encoded, self.decoder.begin(encoded)

    def _nothing(self, batch_size: int) -> Source:
        lengths = torch.ones(batch_size, dtype=torch.long)
        if self.config.features:
            return Source(lengths, vectors=torch.zeros(batch_size, 1, self.config.features))
        return Source(lengths, ids=torch.full((batch_size, 1), self.eos_id))

    def renew(self, ended: torch.Tensor, carried: State) -> State:
        (encoded, progress), memory = cast("Any", carried)
        fresh = self.decoder.begin(Encoded(*encoded)), self.output.begin(len(ended))
        return (encoded, replace_rows(ended, fresh[0], progress)), replace_rows(
            ended, fresh[1], memory
        )

    # Words ----------------------------------------------------------------------------------------

    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        encoded, progress = cast("Any", carried)
        run = self.decoder(self.input(ids), Encoded(*encoded), Progress(*progress))
        drop = locked_dropout if self.config.locked else dropout
        readouts = drop(run.readouts, self.config.dropout_output, self.training)
        return readouts, (encoded, run.progress), self._penalty(run.weights, progress, lengths)

    def _penalty(
        self, weights: torch.Tensor, progress: State, lengths: torch.Tensor | None
    ) -> torch.Tensor | float:
        """λ Σ_ij min(α_ij, Σ_{k<i} α_kj) per word (See et al. 2017)."""
        if not (self.training and self.config.coverage_penalty):
            return 0.0
        before = weights.cumsum(1) - weights + Progress(*progress).covered.unsqueeze(1)
        again = torch.minimum(weights, before).sum(2)
        if lengths is None:
            return self.config.coverage_penalty * again.mean()
        real = real_tokens(weights, lengths)
        return self.config.coverage_penalty * again[real].sum() / real.sum()

    # What was looked at ---------------------------------------------------------------------------

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.has_attention:
            raise InputError("this model has no attention: model.attention=none")
        _, ((encoded, progress), _) = cast("Any", state)
        return Progress(*progress).weights, Encoded(*encoded).real

    def alignments(self, targets: torch.Tensor, source: Source) -> torch.Tensor:
        """How much each place of the source counted for each target id (B, T), (B, T, S)."""
        first = torch.full((len(targets), 1), self.eos_id)
        ids = torch.cat([first, targets.cpu()], dim=1)[:, :-1].to(self.counts.device)
        encoded, progress = cast("Any", self.begin(len(targets), source)[0])
        run = self.decoder(self.input(ids), Encoded(*encoded), Progress(*progress))
        weights: torch.Tensor = run.weights
        return weights

    # What a run folder keeps ----------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        config: Any,
        ids: np.ndarray,
        tokens: Sequence[str],
        eos_id: int,
        source_counts: torch.Tensor | None = None,
    ) -> EncoderDecoder:
        """A fresh model, from the ids of all targets and the counts of the source's tokens."""
        counts = torch.from_numpy(np.bincount(ids, minlength=len(tokens)))
        return cls(config, Material(counts, eos_id, tokens, ids), source_counts)

    @classmethod
    def restore(
        cls, config: Any, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> EncoderDecoder:
        if "counts" not in arrays:
            raise ValueError("counts of the tokens are missing")
        material = Material(torch.from_numpy(arrays["counts"]).clone(), facts["eos_id"])
        source = arrays.get("source_counts")
        source_counts = None if source is None else torch.from_numpy(source).clone()
        with torch.random.fork_rng(devices=[]):  # fresh weights, soon gone, leave no trace
            model = cls(config, material, source_counts)
        model.load_arrays(arrays)
        return model.eval()

    def describe(self) -> dict[str, Any]:
        config = self.config
        return {
            "model": "encoder-decoder",
            "cell": config.cell,
            "layers": list(config.sizes()),
            "embedding_size": config.embedding_size,
            "attention": config.attention,
            "tied": config.tied,
            **super().describe(),
        }


def _word_vectors(counts: torch.Tensor, eos_id: int, config: EncoderDecoderConfig) -> WordVectors:
    return WordVectors(
        Material(counts, eos_id),
        embedding_size=config.embedding_size,
        dropout_words=config.dropout_words,
    )
