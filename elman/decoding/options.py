"""How to decode: every knob once, with its default; wrong values and combinations are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elman.errors import InputError

STRATEGIES: dict[str, str] = {
    "pure-sampling": "draw from the model's own distribution, nothing changed",
    "greedy": "always the likeliest token",
    "temperature": "draw from softmax(log P / tau): below 1 safer, above 1 bolder",
    "softmax-sampling": "draw from softmax(alpha * P), taken of the probabilities themselves",
    "top-k": "draw among the k likeliest tokens",
    "top-p": "draw among the fewest tokens that together have probability p (nucleus)",
    "min-p": "draw among tokens at least min_p times as likely as the likeliest",
    "beam": "search for the likeliest whole continuation, several at a time",
}


@dataclass(kw_only=True, frozen=True)
class DecodingOptions:
    """Everything a decoder can be told, in ids and numbers.

    Temperature 0 means greedy. `forced` ids come first, in order; `banned` ids never come; a row
    ends with the first of its `stop_ids`, which it keeps. `samples` is for sampling; `beam`,
    `length_penalty` and `n_best` are for beam search, which takes no sampling knob and no penalty
    on repetition, so that what it ranks is the model's own probability.
    """

    max_tokens: int = 100
    temperature: float = 1.0
    softmax_alpha: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    greedy: bool = False
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    banned: tuple[int, ...] = ()
    forced: tuple[int, ...] = ()
    stop_ids: tuple[int, ...] = ()
    seed: int = 0
    samples: int = 1
    beam: int | None = None
    length_penalty: float = 0.0
    n_best: int = 1

    def __post_init__(self) -> None:
        self._check_counts()
        self._check_shape()
        self._check_penalties()
        self._check_ids()
        self._check_strategy()
        self._check_beam()

    def transforms(self) -> dict[str, float]:
        """The transforms asked for, by the name that TRANSFORMS knows, each with its number."""
        if self.greedy or self.temperature == 0:
            return {"top-k": 1}  # drawing from one token is greedy, ties included
        asked = {
            "temperature": self.temperature if self.temperature != 1 else None,
            "softmax-sampling": self.softmax_alpha,
            "top-k": self.top_k,
            "top-p": self.top_p,
            "min-p": self.min_p,
        }
        return {name: number for name, number in asked.items() if number is not None}

    @property
    def penalises(self) -> bool:
        """Whether what was generated so far changes what comes next."""
        penalties = (self.frequency_penalty, self.presence_penalty, self.repetition_penalty)
        return penalties != (0, 0, 1)

    def check_vocabulary(self, size: int) -> None:
        """Refuse ids that a model of this many tokens does not have."""
        for name in ("banned", "forced", "stop_ids"):
            for token in getattr(self, name):
                if token >= size:
                    raise InputError(f"{name}: id {token} is not below the model's {size} tokens")

    def _check_counts(self) -> None:
        _require(self.max_tokens >= 0, f"max_tokens is {self.max_tokens}; give 0 or more")
        _require(self.samples >= 1, f"samples is {self.samples}; give 1 or more")
        _require(self.n_best >= 1, f"n_best is {self.n_best}; give 1 or more")
        _require(self.seed >= 0, f"seed is {self.seed}; give 0 or more")
        _require(self.beam is None or self.beam >= 1, f"beam is {self.beam}; give 1 or more")

    def _check_shape(self) -> None:
        tau, alpha = self.temperature, self.softmax_alpha
        _require(
            0 <= tau < math.inf,
            f"temperature is {tau}; give 0 (greedy), 1 (as the model says) or more",
        )
        _require(
            alpha is None or 0 <= alpha < math.inf, f"softmax_alpha is {alpha}; give 0 or more"
        )
        _require(self.top_k is None or self.top_k >= 1, f"top_k is {self.top_k}; give 1 or more")
        _require(
            self.top_p is None or 0 < self.top_p <= 1,
            f"top_p is {self.top_p}; give a number above 0 and up to 1",
        )
        _require(
            self.min_p is None or 0 <= self.min_p <= 1,
            f"min_p is {self.min_p}; give a number from 0 to 1",
        )

    def _check_penalties(self) -> None:
        for name in ("frequency_penalty", "presence_penalty", "length_penalty"):
            value = getattr(self, name)
            _require(math.isfinite(value), f"{name} is {value}; give a finite number, 0 for none")
        repetition = self.repetition_penalty
        _require(
            0 < repetition < math.inf,
            f"repetition_penalty is {repetition}; give a number above 0, 1 for none",
        )

    def _check_ids(self) -> None:
        for name in ("banned", "forced", "stop_ids"):
            for token in getattr(self, name):
                _require(token >= 0, f"{name}: id {token} is negative; give ids from 0 up")
        both = sorted(set(self.banned) & set(self.forced))
        _require(not both, f"ids {both} are both banned and forced; choose one")
        _require(
            len(self.forced) <= self.max_tokens,
            f"{len(self.forced)} tokens are forced but max_tokens is {self.max_tokens}; raise it",
        )
        _require(
            not set(self.forced[:-1]) & set(self.stop_ids),
            "a stop id is forced before the last forced token; put it last or leave it out",
        )

    def _check_strategy(self) -> None:
        if self.greedy and self.temperature not in (0, 1):
            raise InputError("greedy takes no temperature; leave out one of the two")
        if self.softmax_alpha is not None and self.temperature not in (0, 1):
            raise InputError("softmax_alpha and temperature both reshape; leave out one of the two")

    def _check_beam(self) -> None:
        if self.beam is None:
            _require(self.n_best == 1, "n_best is for beam search; set beam, or use samples")
            _require(self.length_penalty == 0, "length_penalty is for beam search; set beam")
            return
        _require(
            self.n_best <= self.beam,
            f"n_best is {self.n_best} but beam is {self.beam}; widen the beam",
        )
        _require(self.samples == 1, "beam search draws no samples; use n_best, or leave out beam")
        _require(
            not self.transforms(), "beam search does not draw; leave out beam or the sampling knobs"
        )
        _require(
            not self.penalises, "beam search ranks by probability alone; leave out the penalties"
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)
