"""Search for the likeliest whole continuations, a fixed number of them side by side.

At each step the `beam` likeliest ways to go on are kept, over all hypotheses of a row together. One
that emits a stop id is finished and takes its place with it, so that the beam narrows (Sutskever et
al., 2014, section 3.2); a beam of one is therefore greedy, whatever the length penalty.

    state (B rows) ── predict ── the beam's best tokens of each hypothesis (N, K)
         ↑                                     │
       read ── the best of each row ── laid out by row (B, beam · K)

Many rows are searched at once, each as if it stood alone; a row that is done leaves the batch.
Called by generation (one prompt) and translation (many sources).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from elman.decoding.distribution import constrain
from elman.decoding.hypotheses import Ended, Hypothesis, Live, begin
from elman.decoding.options import DecodingOptions
from elman.decoding.probabilities import likeliest, refuse_broken
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State, tensors


def beam_search(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    finished: Callable[[list[int]], bool] | None = None,
) -> list[Hypothesis]:
    """The `n_best` highest scoring continuations of a state of one row, best first.

    A hypothesis ends with a stop id, or when `finished` says so of its ids.
    """
    count = len(tensors(state)[0])
    if count != 1:
        raise InputError(f"beam search starts from a state of one row, not {count}")
    return beam_search_rows(model, state, options, finished=finished)[0]


@torch.no_grad()
def beam_search_rows(
    model: LanguageModel,
    state: State,
    options: DecodingOptions,
    *,
    limits: Sequence[int] | None = None,
    finished: Callable[[list[int]], bool] | None = None,
) -> list[list[Hypothesis]]:
    """For each row of a state its `n_best` highest scoring continuations, best first.

    limits: the most tokens for each row; none has more than max_tokens. Hypotheses cut off there
    compete with finished ones. Fewer than `n_best` come back only when fewer are possible.
    """
    if options.beam is None:
        raise InputError("beam search needs a width; set beam, for example to 4")
    options.check_vocabulary(model.vocabulary_size)
    live = begin(model, state, options)
    longest = torch.full((len(live),), options.max_tokens)
    if limits is not None:
        longest = longest.minimum(torch.tensor(limits))
    ended = Ended(longest, options)
    stop_ids = torch.tensor(options.stop_ids, dtype=torch.long)
    stopped = longest == 0
    while True:
        ended.add(live.keep(stopped))
        live = live.keep(~stopped)
        live = live.keep(~ended.settled(live)[live.rows])
        if not len(live):
            return ended.best()
        live = _extend(model, live.read_last(model), options, ended.room)
        stopped = torch.isin(live.ids[:, -1], stop_ids)
        stopped |= longest[live.rows] <= live.ids.shape[1]
        if finished is not None:
            stopped |= torch.tensor([finished(ids) for ids in live.ids.tolist()], dtype=torch.bool)


def _extend(model: LanguageModel, live: Live, options: DecodingOptions, room: torch.Tensor) -> Live:
    """The likeliest continuations by one token, as many of each row as it has room (B,) for.

    Impossible ones are left out. Of equally likely ones the first by ids is kept.
    """
    attended = live.attended
    if attended is not None:
        attended = attended + model.attention(live.state)[0].cpu()
    log_probs = constrain(model.predict(live.state), options, step=live.ids.shape[1])  # (N, V)
    assert options.beam is not None
    values, tokens = likeliest(log_probs, options.beam)  # (N, K)
    refuse_broken(values)
    totals = live.log_probs[:, None] + values.cpu().double()
    parents, choices = _best_of_each_row(totals, live.rows, room)
    chosen = tokens.cpu()[parents, choices]
    return replace(
        live,
        rows=live.rows[parents],
        ids=torch.cat([live.ids[parents], chosen[:, None]], dim=1),
        log_probs=totals[parents, choices],
        parents=parents,
        attended=None if attended is None else attended[parents],
    )


def _best_of_each_row(
    totals: torch.Tensor, rows: torch.Tensor, room: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Where the largest of totals (N, K) stand, for each row as many as it has room (B,) for.

    Both results are (M,), in the order of the totals; minus infinity is never among them.
    """
    firsts = torch.searchsorted(rows, rows)  # of a row's hypotheses, which stand side by side
    ranks = torch.arange(len(rows)) - firsts
    width, choices = int(ranks.max()) + 1, totals.shape[1]
    laid_out = totals.new_full((len(room), width, choices), -torch.inf)
    laid_out[rows, ranks] = totals
    flat = laid_out.flatten(1)  # (B, width * K)
    values, order = flat.sort(dim=1, descending=True, stable=True)
    good = (torch.arange(flat.shape[1]) < room[:, None]) & ~torch.isneginf(values)
    row, place = torch.zeros_like(good).scatter(1, order, good).nonzero(as_tuple=True)
    first_of_row = torch.searchsorted(rows, row)
    return first_of_row + place // choices, place % choices
