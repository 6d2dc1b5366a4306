"""`/v1/embeddings`: one vector per text, in the format of OpenAI.

The vector of a text is the mean over its words, scaled to length 1, so the dot product of two texts
is their cosine. Word vectors are contextual (the hidden vectors of a language model, the layers of
a bidirectional one); `layer: "words"` gives vectors without context.
"""

import base64
from typing import Any, Literal

import numpy as np
from pydantic import Field

from elman.errors import InputError
from elman.studio.completion_request import Id, Strict, check_prompt, each_text
from elman.studio.jobs import Job
from elman.studio.limits import Limits, refuse_above
from elman.studio.served import ServedModel
from elman.tasks.vectors import Embedder, embedder_of

_WITHOUT_CONTEXT = "words"


class EmbeddingsRequest(Strict):
    """The request of OpenAI's API; the field `layer` is an addition of elman."""

    input: str | list[str] | list[Id] | list[list[Id]] = Field(
        description="A text, a list of texts, token ids, or a list of token id lists."
    )
    encoding_format: Literal["float", "base64"] | None = Field(
        "float", description="float, or base64 of 32-bit floats (little endian)."
    )
    dimensions: int | None = Field(None, description="Only the model's own size is supported.")
    user: str | None = None
    layer: str = Field(
        "mix", description="mix, a layer number, or words for vectors without context."
    )


def embeddings(
    model: ServedModel, asked: EmbeddingsRequest, limits: Limits, job: Job
) -> dict[str, Any]:
    """Compute one vector per text, in the format of OpenAI."""
    texts = [_text(model, given, limits) for given in each_text(asked.input)]
    refuse_above("the number of characters", sum(map(len, texts)), limits.text_characters)
    refuse_above("the number of texts", len(texts), limits.texts)
    embedder = embedder_of(model.trained, model.id)
    if asked.dimensions not in (None, embedder.size):
        raise InputError(f"dimensions: the vectors of this model have {embedder.size} numbers")
    if not texts:
        raise InputError("input is empty; give at least one text")
    data, tokens = [], 0
    for index, text in enumerate(texts):
        job.go_on()
        vector, words = _vector(embedder, text, asked.layer, index)
        tokens += words
        coded = _encode(vector, asked.encoding_format or "float")
        data.append({"object": "embedding", "index": index, "embedding": coded})
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"model": model.id, "object": "list", "data": data, "usage": usage}


def _vector(embedder: Embedder, text: str, layer: str, index: int) -> tuple[np.ndarray, int]:
    """The mean over the words of all lines, scaled to length 1, and the number of words."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise InputError(f"input {index} contains no words; give some text")
    if layer == _WITHOUT_CONTEXT:
        vectors = embedder.type_vectors([word for line in lines for word in line.split()])
    else:
        found = embedder.embed(lines)
        chosen = [embedder.choose(_one_layer(layer), line.layers)[0] for line in found]
        vectors = np.concatenate(chosen)  # (words, numbers)
    mean = vectors.mean(0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    return mean / (length or 1.0), len(vectors)


def _one_layer(layer: str) -> str:
    if layer == "all":
        raise InputError('layer is "all"; choose mix, words or the number of one layer')
    return layer


def _encode(vector: np.ndarray, form: str) -> list[float] | str:
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [float(number) for number in vector.astype(np.float32)]


def _text(model: ServedModel, given: str | list[int], limits: Limits) -> str:
    """An input as text; ids need a model whose tokenizer knows them."""
    if isinstance(given, str):
        return given
    tokenizer = getattr(model.trained, "tokenizer", None)
    if tokenizer is None:
        raise InputError("input: this model takes texts, not ids")
    check_prompt(given, len(tokenizer), limits)
    return str(tokenizer.decode(given))
