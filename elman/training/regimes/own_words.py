"""Replace words of a training window by the model's own words.

Takes a model and the inputs of a window, gives inputs in which some words are the model's own:
draws, or the words of a beam search. They are found first, word by word and without gradients,
which could not flow through a draw anyway; the loss is then one ordinary pass over the mixed
inputs, with all fused kernels. Everything random comes from torch's global generator, which is part
of a snapshot.

    true inputs     <eos> boys  who  Mary  chases
    own             –     –     own  –     own          drawn given the words before
    mixed inputs    <eos> boys  that Mary  sees
    targets         boys  who   Mary chases walk        always the true text
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from elman.batches import Batch
from elman.config import check_types
from elman.errors import InputError, choose
from elman.state import State, select
from elman.training.regimes.regime import OPTIONS, Loss, Reader, Regime, begun
from elman.training.settings import require_least, require_part


def loss_on_own_words(
    model: Reader,
    batch: Batch,
    carried: State | None,
    own: torch.Tensor,
    options: FreeRunningOptions,
) -> tuple[Loss, State]:
    """The loss of a batch that reads the model's own words where `own` (B, T) is true.

    A window of a stream passes on the state after the true text: its targets are the true text,
    and a history that drifts from window to window would become unrelated to them.
    """
    if not own[:, 1:].any():
        return model.loss(batch, carried)
    before = begun(model, batch, carried)
    if options.beam:
        inputs = searched_words(model, batch, before, own, options.beam)
    else:
        inputs = own_words(model, batch.inputs, before, own, options.top_k)
    loss, after = model.loss(replace(batch, inputs=inputs), carried)
    if batch.lengths is None:
        with torch.no_grad():
            _, (_, after) = model.advance(batch.inputs, before)
    return loss, after


@torch.no_grad()
def own_words(
    model: Reader, inputs: torch.Tensor, carried: State, own: torch.Tensor, top_k: int = 0
) -> torch.Tensor:
    """The inputs (B, T) with the model's draws where `own` (B, T) is true; the first one stays.

    If each row is one line and the model would end it too early, the true word stays, since the
    loss also treats the row as one line.
    """
    mixed = inputs.clone()
    with evaluating(model):
        _, state = model.advance(inputs[:, :1], carried)
        for t in range(1, inputs.shape[1]):
            drawn = draw(model.predict(state), top_k)
            taken = own[:, t]
            if model.resets_at_lines:
                taken = taken & (drawn != model.eos_id)
            mixed[:, t] = torch.where(taken, drawn, inputs[:, t])
            state = model.read(mixed[:, t : t + 1], state)
    return mixed


@torch.no_grad()
def searched_words(
    model: Reader, batch: Batch, carried: State, own: torch.Tensor, beam: int
) -> torch.Tensor:
    """The inputs (B, T) with the words of a beam search where `own` (B, T) is true.

    The search keeps the `beam` most probable histories of each row; the best one after the last
    word is returned. Where `own` is false, all histories read the true word and keep their scores:
    the true text must not choose between histories. If each row is one line, no history ends it.
    """
    rows, width = batch.inputs.shape
    if batch.lengths is not None:  # padding must not choose either
        own = own & (torch.arange(width, device=own.device) < batch.lengths[:, None])
    first = beam * torch.arange(rows, device=own.device)  # the first history of each row
    found = batch.inputs[:, :1].repeat_interleave(beam, 0)  # (B · beam, words so far)
    scores = torch.full((rows, beam), -torch.inf, device=own.device)
    scores[:, 0] = 0  # the histories of a row are still the same
    with evaluating(model):
        _, state = model.advance(batch.inputs[:, :1], carried)
        state = select(state, (first // beam).repeat_interleave(beam))
        for t in range(1, width):
            log_probs = model.predict(state)  # (B · beam, V)
            if model.resets_at_lines:
                log_probs = log_probs.index_fill(1, first.new_tensor(model.eos_id), -torch.inf)
            taken, true = own[:, t, None], batch.inputs[:, t, None]
            scores, parents, words = _extended(scores, log_probs, taken, true)
            chosen = (first[:, None] + parents).flatten()
            found = torch.cat([found[chosen], words.view(-1, 1)], dim=1)
            state = model.read(found[:, -1:], select(state, chosen))
    return found[first + scores.argmax(1)]


def _extended(
    scores: torch.Tensor, log_probs: torch.Tensor, taken: torch.Tensor, true: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The best histories of each row after one more word: scores, parents and words, (B, beam).

    Rows that are not `taken` (B, 1) keep their histories and read the `true` word (B, 1).
    """
    (rows, beam), vocabulary_size = scores.shape, log_probs.shape[1]
    totals = (scores.view(-1, 1) + log_probs).view(rows, beam * vocabulary_size)
    best, places = totals.topk(beam)
    parents = torch.where(taken, places // vocabulary_size, torch.arange(beam, device=true.device))
    words = torch.where(taken, places % vocabulary_size, true)
    return torch.where(taken, best, scores), parents, words


def draw(log_probs: torch.Tensor, top_k: int = 0) -> torch.Tensor:
    """One id for each row of (B, V), from the whole distribution or the `top_k` best ids.

    If a diverged model gives no valid distribution, any id is drawn: the loss of the step is not
    finite either, and the trainer recovers, in all processes at once.
    """
    if 0 < top_k < log_probs.shape[1]:
        best, ids = log_probs.topk(top_k)
        return ids.gather(1, draw(best)[:, None]).squeeze(1)
    probabilities = log_probs.exp()
    sums = probabilities.sum(1, keepdim=True)
    sound = torch.isfinite(sums) & (sums > 0)
    if not sound.all():
        probabilities = torch.where(sound, probabilities, 1.0)
    return torch.multinomial(probabilities, 1).squeeze(1)


def toss(probability: float, like: torch.Tensor) -> torch.Tensor:
    """A Bernoulli draw for each position of a tensor; a certain outcome is not drawn."""
    if 0 < probability < 1:
        return torch.rand(like.shape, device=like.device) < probability
    return torch.full_like(like, probability >= 1, dtype=torch.bool)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Inside this context the model is in evaluation mode: no dropout."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


@dataclass(kw_only=True)
class FreeRunningOptions:
    """Options of free running: how own words are found."""

    top_k: int = 0  # from the k best words, as generation with --top-k; 1: the best; 0: from all
    beam: int = 0  # by a beam search with so many histories, instead of drawing; 0: draw

    def __post_init__(self) -> None:
        check_types(self)
        require_least(self, OPTIONS, top_k=0, beam=0)
        if self.top_k and self.beam:
            raise InputError(
                f"{OPTIONS}.beam={self.beam}: a beam search does not draw from the best words; "
                "leave out top_k or beam"
            )


class FreeRunning(Regime):
    """Free running: after the first word of a window, the history is the model's own words.

        L = -Σ_t log p(y_t | y_1 ŷ_2 … ŷ_(t-1)),   ŷ_t drawn from p(· | y_1 ŷ_2 … ŷ_(t-1))

    The target is the true word, after a history that it did not follow. So the further into a
    window, the less the history teaches. This is the limit case of scheduled sampling.
    """

    about = "the model reads its own words, except for the first word of a window"
    options_class = FreeRunningOptions
    options: FreeRunningOptions

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        own = toss(1.0, batch.inputs)
        return loss_on_own_words(model, batch, carried, own, self.options)


@dataclass(kw_only=True)
class ScheduledSamplingOptions(FreeRunningOptions):
    """Options of scheduled sampling: how the probability of the true word falls."""

    schedule: str = "linear"  # linear, exponential or inverse-sigmoid
    initial: float = 1.0  # linear: the probability at the beginning
    final: float = 0.5  # the probability at the end
    steepness: float = 50.0  # inverse-sigmoid: k; the larger, the longer it stays high

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(SCHEDULES, self.schedule, f"{OPTIONS}.schedule")
        require_part(self, OPTIONS, "initial", "final")
        require_least(self, OPTIONS, steepness=1.0)
        if self.schedule != "linear" and self.final == 0:
            raise InputError(
                f"{OPTIONS}.final=0: the schedule {self.schedule} never reaches 0; "
                "give a number above 0, or schedule=linear"
            )


class ScheduledSampling(Regime):
    """Scheduled sampling: for each word, a random draw decides whether the history has the true
    word or the model's.

        L = -Σ_t log p(y_t | x_1 … x_(t-1)),   x_t = y_t with probability ε, else drawn by the model

    ε falls over the training. With x from 0 to 1 for how far it is, and `final` as its last value,

        linear            ε(x) = initial - (initial - final) x
        exponential       ε(x) = final^x                          (the paper's k^i)
        inverse-sigmoid   ε(x) = k / (k + (k (1 - final) / final)^x)      (k / (k + exp(i / k)))

    Bengio, Vinyals, Jaitly and Shazeer (2015): Scheduled sampling for sequence prediction with
    recurrent neural networks.
    """

    about = "true or own words at random, with a growing share of own words (Bengio et al. 2015)"
    options_class = ScheduledSamplingOptions
    options: ScheduledSamplingOptions

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        own = toss(1 - self.probability(progress), batch.inputs)
        return loss_on_own_words(model, batch, carried, own, self.options)

    def probability(self, progress: float) -> float:
        """ε: the probability that a word of the history is the true one."""
        return SCHEDULES[self.options.schedule](self.options, progress)


def _linear(options: ScheduledSamplingOptions, progress: float) -> float:
    return options.initial - (options.initial - options.final) * progress


def _exponential(options: ScheduledSamplingOptions, progress: float) -> float:
    return options.final**progress


def _inverse_sigmoid(options: ScheduledSamplingOptions, progress: float) -> float:
    k = options.steepness
    return k / (k + (k * (1 - options.final) / options.final) ** progress)


SCHEDULES: dict[str, Callable[[ScheduledSamplingOptions, float], float]] = {
    "linear": _linear,
    "exponential": _exponential,
    "inverse-sigmoid": _inverse_sigmoid,
}
