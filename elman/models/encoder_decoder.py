"""The encoder–decoder: a language model of targets, given a source.

    source ── encoder ── values, summary ──┐ attention
    <eos> y_1 y_2 …  ── decoder ───────────┴── r_1 r_2 … ── output ── p(y_i | y_1 … y_{i-1}, source)

(Cho et al. 2014; Sutskever et al. 2014; with attention Bahdanau et al. 2015 and Luong et al. 2015.)
It implements the contract: `start(batch_size, source)` encodes the source into the state, so
reading, scoring and decoding need no special code. After the end of a target, the model starts
again with the same source.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, cast

import torch

from elman.batches.sources import Source
from elman.cells.engine import real_tokens
from elman.errors import InputError
from elman.layers.decoder import CONTEXTS, Decoder, DecoderConfig, DecoderRun, DecoderState, Encoded
from elman.layers.dropout import draw_masks_anew, dropout, locked_dropout
from elman.layers.encoders import TextEncoder, VectorEncoder
from elman.layers.inputs import Material, WordVectors
from elman.layers.outputs.output import Evidence, Output
from elman.layers.outputs.pointer import Copying
from elman.layers.stack import StackConfig
from elman.models.network import NeuralConfig
from elman.models.neural import NeuralModel
from elman.state import State, replace_rows
from elman.text.task_config import PairConfig
from elman.text.tokenizer import UNKNOWN

# Names of 0.1.0 for attentions between different sizes, as options of bilinear attention.
_DOT_WITH_MATRIX: dict[str, dict[str, Any]] = {"dot": {}, "scaled-dot": {"scaled": True}}


@dataclass(kw_only=True)
class EncoderDecoderConfig(NeuralConfig, StackConfig, DecoderConfig):
    """Settings of the encoder, the decoder and the attention between them."""

    contexts: ClassVar[tuple[str, ...]] = CONTEXTS
    context: str = "every"  # without attention: the summary enters every step, or the start
    bidirectional: bool = True  # the encoder reads in both directions
    encoder_layers: int = 0  # layers of the encoder; 0: as many as the decoder
    copy: bool = False  # copy words from the source (pointer-generator, See et al. 2017)
    copy_places: int = 20  # maximum out-of-vocabulary words per source
    features: int = 0  # size of given source vectors; 0: sources are text

    def __post_init__(self) -> None:
        NeuralConfig.__post_init__(self)
        StackConfig.__post_init__(self)
        DecoderConfig.__post_init__(self)
        for name in ("encoder_layers", "features", "copy_places"):
            if getattr(self, name) < 0:
                raise InputError(f"model.{name}={getattr(self, name)}: must not be negative")
        if self.copy:
            self._check_copying()
        if self.masks_per_gate:
            raise InputError(
                "model.masks_per_gate=true: a decoder has one mask for all gates; leave it out"
            )
        if self.encoder_layers and isinstance(self.hidden_size, tuple):
            raise InputError(
                "model.encoder_layers: a list as hidden_size sets the layers of both; leave one out"
            )

    def _check_copying(self) -> None:
        if self.attention == "none" or self.features:
            raise InputError("model.copy=true: needs an attention, and a source that is text")
        if self.output != "full" or self.output_options:
            raise InputError("model.copy=true: needs output=full, without options")

    def encoder_stack(self) -> StackConfig:
        """The layers of the encoder."""
        return replace(self._stack(), num_layers=self.encoder_layers or self.num_layers)

    def decoder_stack(self) -> StackConfig:
        """The layers of the decoder; dropout of their outputs comes only after the readout."""
        return replace(self._stack(), bidirectional=False, dropout_output=0.0)

    def _stack(self) -> StackConfig:
        return StackConfig(**{each.name: getattr(self, each.name) for each in fields(StackConfig)})


class EncoderDecoder(NeuralModel):
    """Write a target from a source, for example a translation."""

    task: ClassVar[str] = "translation"
    text_class: ClassVar[type] = PairConfig
    about = "reads a source and writes a target word by word, with attention"
    config_class = EncoderDecoderConfig
    config: EncoderDecoderConfig

    def __init__(
        self,
        config: EncoderDecoderConfig,
        material: Material,
        source_counts: torch.Tensor | None = None,
    ) -> None:
        """`source_counts`: counts of source tokens; None: shared with the target, or vectors."""
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
                self.source_input = WordVectors(
                    Material(source_counts, material.eos_id),
                    embedding_size=config.embedding_size,
                    dropout_words=config.dropout_words,
                )
            embedded = self.input if self.source_input is None else self.source_input
            self.encoder = TextEncoder(embedded.size, config.encoder_stack())
        readout = config.readout_size or config.embedding_size
        self.decoder = Decoder(
            self.input.size, self.encoder.size, readout, config, config.decoder_stack()
        )
        self.has_attention = self.decoder.looks
        self.add_output(readout)
        # Copied out-of-vocabulary words are read as this token.
        self.unknown_id = material.eos_id
        if config.copy:
            self.vocabulary_size += config.copy_places
            if material.tokens is not None and UNKNOWN in material.tokens:
                self.unknown_id = list(material.tokens).index(UNKNOWN)

    def make_output(self, hidden_size: int) -> Output:
        config = self.config
        if not config.copy:
            return super().make_output(hidden_size)
        sizes = {"embedding_size": config.embedding_size, "tied": config.tied}
        return Copying(hidden_size, self.counts, further=config.copy_places, **sizes)

    def pretrained_table(self) -> torch.Tensor:
        """The vectors of the source."""
        return super().pretrained_table() if self.source_input is None else self.source_input.weight

    # Start ----------------------------------------------------------------------------------------

    def begin_encoding(self, batch_size: int) -> State:
        return self.encode_source(self._nothing(batch_size))

    def begin(self, batch_size: int, source: Source | None = None) -> State:
        """Encode the source; the target is empty. Without a source, use an empty one."""
        if source is None:
            source = self._nothing(batch_size)
        if len(source) != batch_size:
            raise ValueError(f"{batch_size} rows, but {len(source)} sources")
        draw_masks_anew()
        return self.encode_source(source), self.output.begin(batch_size)

    def encode_source(self, source: Source) -> State:
        """The encoded sources, and the state of the decoder before the first word."""
        source = source.to(self.counts.device)
        embed = self.input if self.source_input is None else self.source_input
        values, summary = self.encoder(source, embed)
        real = real_tokens(values, source.lengths)
        keys = self.decoder.prepare(values)
        encoded = Encoded(values, keys, real, summary, self._places(source))
        return encoded, self.decoder.begin(encoded)

    def _places(self, source: Source) -> torch.Tensor:
        """Ids of the source words; unknown words beyond the extra ids stay unknown."""
        if not self.config.copy:
            return source.lengths.new_zeros(len(source), 0)
        if source.places is None:
            raise ValueError("a model that copies needs the places of the source words")
        return source.places.where(source.places < self.vocabulary_size, self.unknown_id)

    def _nothing(self, batch_size: int) -> Source:
        lengths = torch.ones(batch_size, dtype=torch.long)
        if self.config.features:
            return Source(lengths, vectors=torch.zeros(batch_size, 1, self.config.features))
        end = torch.full((batch_size, 1), self.eos_id)
        return Source(lengths, ids=end, places=end if self.config.copy else None)

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
        run = self._decode(ids, carried)
        return self._drop(run.readouts), (cast("Any", carried)[0], run.progress), 0.0

    def gather(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[Evidence, State, torch.Tensor | float]:
        draw_masks_anew()
        (encoded, progress), memory = cast("Any", carried)
        run = self._decode(ids, (encoded, progress))
        evidence, memory = self.output.gather(self._drop(run.readouts), ids, memory)
        if self.config.copy:
            places = Encoded(*encoded).places.unsqueeze(1).expand(-1, ids.shape[1], -1)
            evidence = (*evidence, run.weights, places)
        penalty = self._penalty(run.weights, DecoderState(*progress), lengths)
        return evidence, ((encoded, run.progress), memory), penalty

    def _decode(self, ids: torch.Tensor, carried: State) -> DecoderRun:
        encoded, progress = cast("Any", carried)
        if self.config.copy:
            ids = ids.where(ids < len(self.counts), self.unknown_id)
        return self.decoder(self.input(ids), Encoded(*encoded), DecoderState(*progress))

    def _drop(self, readouts: torch.Tensor) -> torch.Tensor:
        drop = locked_dropout if self.config.locked else dropout
        return drop(readouts, self.config.dropout_output, self.training)

    def _penalty(
        self, weights: torch.Tensor, before: DecoderState, lengths: torch.Tensor | None
    ) -> torch.Tensor | float:
        """λ Σ_ij min(α_ij, Σ_{k<i} α_kj) per word (See et al. 2017)."""
        if not (self.training and self.config.coverage_penalty):
            return 0.0
        earlier = before.covered.unsqueeze(1) + weights.cumsum(1) - weights
        again = torch.minimum(weights, earlier).sum(2)
        if lengths is None:
            return self.config.coverage_penalty * again.mean()
        real = real_tokens(weights, lengths)
        return self.config.coverage_penalty * again[real].sum() / real.sum()

    # Attention ------------------------------------------------------------------------------------

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.has_attention:
            raise InputError("this model has no attention: model.attention=none")
        _, ((encoded, progress), _) = cast("Any", state)
        return DecoderState(*progress).weights, Encoded(*encoded).real

    def alignments(self, targets: torch.Tensor, source: Source) -> torch.Tensor:
        """The attention of each target id (B, T) to each source position, (B, T, S)."""
        first = torch.full((len(targets), 1), self.eos_id)
        ids = torch.cat([first, targets.cpu()], dim=1)[:, :-1].to(self.counts.device)
        return self._decode(ids, self.begin(len(targets), source)[0]).weights

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        table = None if self.source_input is None else self.source_input.table
        looked_up = 0 if table is None else table.numel()
        return super().multiplications(step_tokens, learning=learning) - looked_up

    # Saving and loading ---------------------------------------------------------------------------

    @staticmethod
    def renew_settings(model: dict[str, Any], weights: Collection[str]) -> dict[str, Any]:
        """The settings of an older run under their current names.

        In 0.1.0, dot products used a matrix between vectors of different sizes, now `bilinear`.
        """
        options = _DOT_WITH_MATRIX.get(model.get("attention", ""))
        if options is None or "decoder.attention.key.weight" not in weights:
            return model
        return {**model, "attention": "bilinear", "attention_options": options}

    def facts(self) -> dict[str, Any]:
        return super().facts() | ({"unknown_id": self.unknown_id} if self.config.copy else {})
