"""word2vec (Mikolov et al. 2013): one vector per word, from the words around it.

    skip-gram   each word around a word predicts it         h = v of that word
    CBOW        all words around a word predict it          h = mean of their v

    loss = -log σ(u_o · h) - Σ_k log σ(-u_k · h)            o: the word, k: noise words

Every word has a vector v, which is kept, and a vector u to be predicted by. As in the published
program, skip-gram predicts the centre of a window from its neighbours: these are the same pairs.
The noise words (negative samples) are drawn by frequency to the power ¾, once for all predictions
of a window, so that the scores are one matrix product (Ji et al. 2016). A noise word that is the
true one does not count. Takes `ContextBatch`, gives the nats of its predictions.

Gradients are sparse: a step changes only the vectors of its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn.functional import embedding, softplus

from elman.batches.contexts import NOBODY, ContextBatch, kept_shares
from elman.config import at_least, check_types
from elman.errors import InputError, choose
from elman.models.contract import Loss
from elman.models.weights import Kept
from elman.text.task_config import PlainConfig

METHODS = ("skip-gram", "cbow")
_SEED = 0  # of the noise words of a validation, which are always the same


@dataclass(kw_only=True)
class Word2VecConfig:
    """Settings of word2vec; the defaults are those of the published program."""

    method: str = "skip-gram"  # skip-gram: predict the words around; cbow: predict from them
    embedding_size: int = 100  # numbers per word vector
    window: int = 5  # words on each side, at most
    negatives: int = 5  # noise words per prediction
    noise_power: float = 0.75  # noise words are drawn by frequency to this power
    subsample: float = 1e-3  # words with a larger share of the text are left out at times; 0: never

    def __post_init__(self) -> None:
        check_types(self)
        choose(dict.fromkeys(METHODS), self.method, "model.method")
        for name in ("embedding_size", "window", "negatives"):
            at_least(getattr(self, name), 1, f"model.{name}")
        for name in ("noise_power", "subsample"):
            if not getattr(self, name) >= 0:
                raise InputError(f"model.{name}={getattr(self, name)}: must not be negative")


class Word2Vec(Kept):
    """A table of word vectors, and a second one to train it with."""

    about: ClassVar[str] = "word2vec: word vectors by skip-gram or CBOW with negative sampling"
    task: ClassVar[str] = "word-vectors"
    text_class: ClassVar[type] = PlainConfig
    config_class: ClassVar[type] = Word2VecConfig
    judged_by = "loss"

    def __init__(self, config: Word2VecConfig, counts: torch.Tensor) -> None:
        """`counts` (V,): how often each word occurs in the training text."""
        super().__init__()
        self.config = config
        size = config.embedding_size
        self.vectors = nn.Embedding(len(counts), size)
        nn.init.uniform_(self.vectors.weight, -0.5 / size, 0.5 / size)
        self.predictions = nn.Embedding(len(counts), size)
        nn.init.zeros_(self.predictions.weight)
        noise = counts.double().pow(config.noise_power) * (counts > 0)
        self.register_buffer("noise", noise.cumsum(0), persistent=False)
        self._counts = counts
        # Says that this is on purpose; otherwise torch warns at the first sparse gradient.
        torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]

    noise: torch.Tensor  # (V,): cumulated weights of the noise words

    def loss(self, batch: ContextBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the predictions of a batch; no state is carried from batch to batch."""
        hidden, counted = self._hidden(batch.contexts)
        noise = self.draw(len(batch), batch.centres.device)
        nats = self.contrast(hidden, counted, batch.centres, noise)
        return Loss(nats, int(counted.sum())), ()

    def _hidden(self, contexts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The vectors h that predict each centre, (N, H, size), and which of them count, (N, H)."""
        present = contexts != NOBODY
        vectors = embedding(contexts.clamp(min=0), self.vectors.weight, sparse=True)
        if self.config.method == "skip-gram":
            return vectors, present
        number = present.sum(1, keepdim=True)  # (N, 1)
        sums = torch.einsum("nc,ncd->nd", present.to(vectors.dtype), vectors)
        return (sums / number.clamp(min=1)).unsqueeze(1), number > 0

    def draw(self, centres: int, device: torch.device) -> torch.Tensor:
        """Noise words for each centre, (N, negatives); the same every time in evaluation."""
        generator = None
        if not self.training:
            generator = torch.Generator(device).manual_seed(_SEED)
        shape = (centres, self.config.negatives)
        places = torch.rand(shape, generator=generator, device=device, dtype=torch.double)
        words = torch.searchsorted(self.noise, places * self.noise[-1], right=True)
        return words.clamp(max=len(self.noise) - 1)  # rounding

    def contrast(
        self,
        hidden: torch.Tensor,
        counted: torch.Tensor,
        centres: torch.Tensor,
        noise: torch.Tensor,
    ) -> torch.Tensor:
        """The loss of telling centres (N,) from noise (N, k), summed over the counted of (N, H)."""
        words = torch.cat([centres[:, None], noise], dim=1)
        predictions = embedding(words, self.predictions.weight, sparse=True)
        scores = torch.bmm(hidden, predictions.transpose(1, 2))  # (N, H, 1 + k)
        others = softplus(scores[:, :, 1:]) * (noise != centres[:, None]).unsqueeze(1)
        return ((softplus(-scores[:, :, 0]) + others.sum(2)) * counted).sum()

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per word of the text, forward only."""
        config, counts = self.config, self._counts.cpu().numpy()
        kept = float((kept_shares(counts, config.subsample) * counts).sum() / max(counts.sum(), 1))
        around = config.window + 1  # on average
        predictions = kept * (around if config.method == "skip-gram" else 1)
        return max(1, round(predictions * (1 + config.negatives) * config.embedding_size))

    def facts(self) -> dict[str, Any]:
        """The main facts about the model, as plain data."""
        return {"parameters": self.count_parameters()}
