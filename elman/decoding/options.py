"""Decoding options with their defaults; invalid values and combinations are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any

from elman.decoding.transforms import TRANSFORMS
from elman.errors import InputError


def _knob(default: Any, about: str) -> Any:
    """A field that is also a flag of `elman generate`; `about` is its help text."""
    return field(default=default, metadata={"about": about})


# Built from the list of transforms, so a new transform needs no change here.
_TransformOptions: Any = make_dataclass(
    "_TransformOptions",
    [
        (transform.option, transform.type, _knob(transform.off, transform.about))
        for transform in TRANSFORMS.values()
    ],
    kw_only=True,
    frozen=True,
)


@dataclass(kw_only=True, frozen=True)
class DecodingOptions(_TransformOptions):  # type: ignore[misc]  # fields known at run time
    """All options of a decoder, as ids and numbers. The first options are one per transform.

    Temperature 0 means greedy. `forced` ids are generated first, in order; `banned` ids are never
    generated. A row ends with its first stop id and keeps it. No stop id is generated before
    `min_tokens` other tokens. `samples` is for sampling. `beam`, `length_penalty`,
    `coverage_penalty` and `n_best` are for beam search, which accepts no sampling options and no
    repetition penalties: it ranks by the probability of the model.
    """

    greedy: bool = _knob(False, "always choose the most probable token")
    frequency_penalty: float = _knob(
        0.0, "subtract this from the log probability of a token each time it was generated"
    )
    presence_penalty: float = _knob(
        0.0, "subtract this once from the log probability of every generated token"
    )
    repetition_penalty: float = _knob(1.0, "above 1: make generated tokens less likely")
    beam: int | None = _knob(
        None, "beam search: find the most probable continuations with this beam width"
    )
    length_penalty: float = _knob(0.0, "beam search only: above 0 favours longer texts")
    # Not a flag of `elman generate`, where there is no source to cover.
    coverage_penalty: float = 0.0
    n_best: int = _knob(1, "beam search only: number of continuations to print")
    min_tokens: int = _knob(0, "generate at least this many tokens before a stop token")
    max_tokens: int = _knob(100, "generate at most this many tokens")
    samples: int = _knob(1, "number of continuations to sample")
    seed: int = _knob(0, "random seed; sample i of a seed is always the same")
    banned: tuple[int, ...] = ()
    forced: tuple[int, ...] = ()
    stop_ids: tuple[int, ...] = ()
    logit_bias: tuple[
        tuple[int, float], ...
    ] = ()  # ids, and what is added to their log probability

    def __post_init__(self) -> None:
        self._check_counts()
        self._check_transforms()
        self._check_penalties()
        self._check_ids()
        self._check_strategy()
        self._check_beam()

    def transforms(self) -> dict[str, float]:
        """The active transforms: their name in TRANSFORMS and their number."""
        if self.greedy or self.temperature == 0:
            return {"top-k": 1}  # drawing from one token is greedy, ties included
        asked = {}
        for name, transform in TRANSFORMS.items():
            number = getattr(self, transform.option)
            if number != transform.off:
                asked[name] = number
        return asked

    @property
    def penalises(self) -> bool:
        """Whether the tokens generated so far change the next distribution."""
        penalties = (self.frequency_penalty, self.presence_penalty, self.repetition_penalty)
        return penalties != (0, 0, 1)

    def check_vocabulary(self, size: int) -> None:
        """Raise if an id is outside a vocabulary of this size."""
        for token, _ in self.logit_bias:
            if token >= size:
                raise InputError(
                    f"logit_bias: id {token} is not in the vocabulary of {size} tokens"
                )
        for name in ("banned", "forced", "stop_ids"):
            for token in getattr(self, name):
                if token >= size:
                    raise InputError(
                        f"{name}: id {token} is not in the vocabulary of {size} tokens"
                    )

    def _check_counts(self) -> None:
        _require(self.max_tokens >= 0, f"max_tokens is {self.max_tokens}; give 0 or more")
        _require(self.min_tokens >= 0, f"min_tokens is {self.min_tokens}; give 0 or more")
        _require(
            self.min_tokens <= self.max_tokens,
            f"min_tokens is {self.min_tokens} but max_tokens is {self.max_tokens}; lower the first",
        )
        _require(self.samples >= 1, f"samples is {self.samples}; give 1 or more")
        _require(self.n_best >= 1, f"n_best is {self.n_best}; give 1 or more")
        _require(self.seed >= 0, f"seed is {self.seed}; give 0 or more")
        _require(self.beam is None or self.beam >= 1, f"beam is {self.beam}; give 1 or more")

    def _check_transforms(self) -> None:
        for transform in TRANSFORMS.values():
            transform.check(getattr(self, transform.option))

    def _check_penalties(self) -> None:
        for name in ("frequency_penalty", "presence_penalty", "length_penalty"):
            value = getattr(self, name)
            _require(math.isfinite(value), f"{name} is {value}; give a finite number, 0 for none")
        coverage = self.coverage_penalty
        _require(
            0 <= coverage < math.inf, f"coverage_penalty is {coverage}; give 0 for none, or more"
        )
        repetition = self.repetition_penalty
        _require(
            0 < repetition < math.inf,
            f"repetition_penalty is {repetition}; give a number above 0, 1 for none",
        )

    def _check_ids(self) -> None:
        for name in ("banned", "forced", "stop_ids"):
            for token in getattr(self, name):
                _require(token >= 0, f"{name}: id {token} is negative; give ids from 0 up")
        for token, bias in self.logit_bias:
            _require(token >= 0, f"logit_bias: id {token} is negative; give ids from 0 up")
            _require(math.isfinite(bias), f"logit_bias of {token} is {bias}; give a finite number")
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
        _require(
            not set(self.forced[: self.min_tokens]) & set(self.stop_ids),
            f"a stop id is forced, but min_tokens is {self.min_tokens}; leave out one of the two",
        )

    def _check_strategy(self) -> None:
        if self.greedy and self.temperature not in (0, 1):
            raise InputError("greedy takes no temperature; leave out one of the two")
        asked = self.transforms()
        for name in asked:
            other = TRANSFORMS[name].excludes
            _require(
                other not in asked,
                f"{TRANSFORMS[name].option} and {other} both reshape; leave out one of the two",
            )

    def _check_beam(self) -> None:
        if self.beam is None:
            _require(self.n_best == 1, "n_best is for beam search; set beam, or use samples")
            for name in ("length_penalty", "coverage_penalty"):
                _require(getattr(self, name) == 0, f"{name} is for beam search; set beam")
            return
        _require(
            self.n_best <= self.beam,
            f"n_best is {self.n_best} but beam is {self.beam}; widen the beam",
        )
        _require(self.samples == 1, "beam search does not sample; use n_best, or leave out beam")
        _require(
            not self.transforms(),
            "beam search does not sample; leave out beam or the sampling options",
        )
        _require(
            not self.penalises and not self.logit_bias,
            "beam search ranks by probability alone; leave out the penalties and logit_bias",
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


_ABOUT = {knob.name: knob.metadata["about"] for knob in fields(DecodingOptions) if knob.metadata}

STRATEGIES: dict[str, str] = {
    "pure-sampling": "sample from the unchanged distribution of the model",
    "greedy": _ABOUT["greedy"],
    **TRANSFORMS.abouts(),
    "beam": _ABOUT["beam"],
}
