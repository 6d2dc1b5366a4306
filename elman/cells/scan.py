"""All steps of h_t = a_t ∘ h_{t-1} + b_t, in log2 T rounds (Hillis and Steele 1986).

Two steps in a row are one step of the same kind:

    h_t = a_t (a_{t-1} h_{t-2} + b_{t-1}) + b_t = (a_t a_{t-1}) h_{t-2} + (a_t b_{t-1} + b_t)

so each round doubles how far back every position reaches. There are only products and sums: what is
stable in steps, |a| ≤ 1, is stable here. A CPU that is busy with one step already has nothing to
gain from rounds, which do more work in all, and walks. Called by the cells whose gates do not look
at the state.
"""

from __future__ import annotations

from typing import Any

import torch

# With so many numbers per step, a CPU walks faster than it doubles.
_WORTH_WALKING = 1000


def scan(decay: torch.Tensor, added: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """h_1 … h_T. decay a and added b: (B, T, size); start h_0: (B, size)."""
    first = torch.addcmul(added[:, :1], decay[:, :1], start[:, None])
    return _Scan.apply(decay, torch.cat([first, added[:, 1:]], dim=1))  # type: ignore[no-untyped-call]


def _double(decay: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    reach = 1  # decay and added of a position stand for so many steps
    decay, added = decay.clone(), added.clone()
    time = added.shape[1]
    while reach < time:
        added[:, reach:] += decay[:, reach:] * added[:, :-reach]
        if 2 * reach < time:
            decay[:, reach:] = decay[:, reach:] * decay[:, :-reach]
        reach *= 2
    return added


def _walk(decay: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    hidden = added.clone()
    steps = hidden.unbind(1)
    for t, by in enumerate(decay.unbind(1)[1:]):
        steps[t + 1].addcmul_(by, steps[t])
    return hidden


class _Scan(torch.autograd.Function):
    """The gradient of a scan is a scan from the end: db_t = dh_t + a_{t+1} ∘ db_{t+1}.

    So the rounds are not recorded: only a and h are kept, whatever T is.
    """

    @staticmethod
    def forward(ctx: Any, decay: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        walks = not added.is_cuda and added[:, 0].numel() >= _WORTH_WALKING
        hidden = _walk(decay, added) if walks else _double(decay, added)
        ctx.save_for_backward(decay, hidden)
        return hidden

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        decay, hidden = ctx.saved_tensors
        nothing = torch.zeros_like(decay[:, :1])
        following = torch.cat([decay[:, 1:], nothing], dim=1)
        back = _Scan.apply(following.flip(1), gradient.flip(1)).flip(1)  # type: ignore[no-untyped-call]
        before = torch.cat([nothing, hidden[:, :-1]], dim=1)
        return back * before, back
