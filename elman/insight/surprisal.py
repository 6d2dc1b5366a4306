"""The surprisal of every token of a text, and the entropy before it.

    surprisal_t = −log₂ p(x_t | before)         entropy_t = −Σ_w p(w | before) log₂ p(w | before)

Entropy is the expected surprisal. This insight is per token; `elman surprisal` gives a table by
words, with other resets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from elman.insight.insight import Drawing, Insight, Subject, in_parts

_WINDOW = 64  # tokens whose whole distributions are held at once
_EXPECTED = 3  # displayed most probable tokens


@dataclass(frozen=True)
class Surprisal(Insight):
    """In bits, per token."""

    about: ClassVar[str] = "surprisal of every token, and entropy before it"

    tokens: list[str]
    pieces: list[str]  # the text, split at token ends
    surprisals: list[float]
    entropies: list[float]
    expected: list[list[tuple[str, float]]]  # the most probable tokens and their probabilities

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> Surprisal:
        model, ids = subject.model, torch.from_numpy(subject.ids)
        state = model.start(1)
        surprisals: list[float] = []
        entropies: list[float] = []
        expected: list[list[tuple[str, float]]] = []
        for part in in_parts(ids, _WINDOW):
            log_probs, state = model.predict_all(part[None], state)
            own = log_probs[0].gather(1, part[:, None])[:, 0]
            surprisals += (own.double() / -math.log(2)).tolist()
            entropy = torch.special.entr(log_probs.double().exp()).sum(2)[0]
            entropies += (entropy / math.log(2)).tolist()
            best = log_probs[0].topk(min(_EXPECTED, log_probs.shape[2]), dim=1)
            for values, places in zip(
                best.values.exp().tolist(), best.indices.tolist(), strict=True
            ):
                names = [subject.vocabulary[place] for place in places]
                expected.append([*zip(names, values, strict=True)])
        return cls(subject.tokens, subject.pieces, surprisals, entropies, expected)

    def to_data(self) -> dict[str, Any]:
        expected = [[list(pair) for pair in pairs] for pairs in self.expected]
        return {**vars(self), "expected": expected}

    def drawings(self) -> list[Drawing]:
        notes = [
            "expected " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in pairs)
            for pairs in self.expected
        ]
        words = [
            {"text": token, "value": value, "note": note}
            for token, value, note in zip(self.pieces, self.surprisals, notes, strict=True)
        ]
        curves = {
            "title": "Surprisal of each token, and entropy before it",
            "series": [
                {"name": "surprisal", "y": self.surprisals},
                {"name": "entropy", "y": self.entropies},
            ],
            "xNames": self.tokens,
            "yLabel": "bits",
            "zero": True,
        }
        text = {"title": "The text by surprisal", "words": words, "label": "bits"}
        return [Drawing("colouredText", text), Drawing("curves", curves)]

    def summary(self) -> list[str]:
        mean = sum(self.surprisals) / len(self.surprisals)
        most = max(range(len(self.tokens)), key=self.surprisals.__getitem__)
        return [
            f"{mean:.2f} bits per token (perplexity {2**mean:.1f}); most surprising: "
            f"{self.tokens[most]!r} with {self.surprisals[most]:.1f} bits."
        ]
