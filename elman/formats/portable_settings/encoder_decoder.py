"""The settings and weights of encoder–decoders."""

from __future__ import annotations

from typing import Any

from elman.errors import InputError
from elman.formats.portable_settings.describing import Weights, describe, stack_settings
from elman.formats.portable_settings.language_models import model_weights, output_settings
from elman.layers.attentions import (
    AdditiveAttention,
    BilinearAttention,
    DotAttention,
    LocationAttention,
    ScaledDotAttention,
)
from elman.layers.decoder import Decoder
from elman.layers.encoders import TextEncoder, VectorEncoder
from elman.models.encoder_decoder import EncoderDecoder


@describe.register
def _(model: EncoderDecoder) -> tuple[dict[str, Any], Weights]:
    weights = model_weights(model)
    weights.pop("source_counts", None)
    sources = model.source_input
    settings = {
        "family": "encoder-decoder",
        "vocabulary_size": model.vocabulary_size,
        "words": len(model.counts),
        "source_words": 0 if sources is None else len(sources.weight),
        "input_size": model.input.size,
        "eos_id": model.eos_id,
        "unknown_id": model.unknown_id,
        "encoder": _encoder(model),
        "decoder": _decoder(model),
        "output": output_settings(model.output),
    }
    return settings, weights


def _encoder(model: EncoderDecoder) -> dict[str, Any]:
    encoder, config = model.encoder, model.config
    if isinstance(encoder, VectorEncoder):
        return {"features": encoder.features, "size": encoder.size, "backward_size": 0}
    assert isinstance(encoder, TextEncoder)
    return {
        "features": 0,
        "backward_size": encoder.backward_size,
        "layers": stack_settings(encoder.stack, config.cell, config.connection),
    }


def _decoder(model: EncoderDecoder) -> dict[str, Any]:
    decoder, config = model.decoder, model.config
    first = "none" if decoder.before else config.connection
    lower = stack_settings(decoder.stack, config.cell, first)
    upper = []
    if decoder.upper is not None:
        upper = stack_settings(decoder.upper, config.cell, config.connection)
    return {
        "before": decoder.before,
        "told": not decoder.looks and config.context == "every",
        "fed": decoder.readout.out_features if config.input_feeding else 0,
        "layers": lower,
        "upper": upper,
        "attention": _attention(decoder),
        "state_sizes": [
            size for layer in [*lower, *upper] for size in layer["directions"][0]["state_sizes"]
        ],
        "source_size": decoder.bridge.in_features,
        "readout_input": decoder.readout.in_features,
        "readout_size": decoder.readout.out_features,
    }


def _attention(decoder: Decoder) -> dict[str, Any] | None:
    attention = decoder.attention
    if attention is None:
        return None
    source = decoder.bridge.in_features
    settings: dict[str, Any] = {"scale": 1.0, "key": source, "query": source, "size": 0}
    if isinstance(attention, DotAttention):
        scale = source**0.5 if isinstance(attention, ScaledDotAttention) else 1.0
        return settings | {"kind": "dot", "scale": scale, "coverage": False}
    if isinstance(attention, BilinearAttention):
        query = attention.key.out_features
        found = {"kind": "bilinear", "query": query, "size": query, "scale": attention.scale}
        return settings | found | {"coverage": attention.cover is not None}
    if isinstance(attention, AdditiveAttention):
        sizes = {"query": attention.query.in_features, "size": attention.query.out_features}
        return settings | sizes | {"kind": "additive", "coverage": attention.cover is not None}
    if isinstance(attention, LocationAttention):
        places = attention.places
        found = {"kind": "location", "query": places.in_features, "longest": places.out_features}
        return settings | found | {"coverage": False}
    raise InputError(
        f"the attention {type(attention).__name__} cannot be written in this format; train with "
        "--set model.attention=bilinear"
    )
