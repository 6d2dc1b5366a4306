"""The mix of network, n-grams and naive Bayes in a classifier: facts of a run, and their line.

The network is trained; n-grams and naive Bayes are fitted before. How much each of them says in the
end is fitted on validation (`evaluation/mixing.py`) and stored with the calibration.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from elman.evaluation.mixing import fit_weights, mixed

OPINIONS = ("network", "ngrams", "naive_bayes")  # in the order of `Classifier.opinions`
FEWEST = 20  # validation examples needed to fit a mix
UNFITTED = (0.3, 2.0, 0.0)  # with fewer examples; between the mixes fitted on 500 and on 57,000


def fit_mix(scores: np.ndarray, right: np.ndarray, *, several: bool = False) -> dict[str, Any]:
    """Facts about the best mix, from scores (3, N, K) and labels (N,).

    `several`: each row is one label of a text, which the text has (1) or has not (0); judged by
    micro F1. The measure before is that of the network alone.
    """
    name, measure = ("f1", _micro_f1) if several else ("accuracy", _accuracy)
    weights = fit_weights(scores, right)
    if not weights.any():
        return {}
    return {
        **dict(zip(OPINIONS, weights.tolist(), strict=True)),
        f"{name}_before": measure(scores[0].argmax(1), right),
        f"{name}_after": measure(mixed(scores, weights).argmax(1), right),
    }


def _accuracy(guessed: np.ndarray, right: np.ndarray) -> float:
    return float((guessed == right).mean())


def _micro_f1(guessed: np.ndarray, right: np.ndarray) -> float:
    return 2 * int((guessed & right).sum()) / max(int(guessed.sum() + right.sum()), 1)


def mix_in(facts: Mapping[str, Any]) -> tuple[float, ...] | None:
    """The weights in the facts about a calibration; None if there are none."""
    if not all(name in facts for name in OPINIONS):
        return None
    return tuple(float(facts[name]) for name in OPINIONS)


def mix_lines(facts: Mapping[str, Any]) -> list[str]:
    """The line about the mix at the end of a training, if there is one."""
    found = facts.get("calibration", {})
    weights = mix_in(found)
    if weights is None:
        return []
    line = "scores mixed on validation: network × {:.2g}, n-grams × {:.2g}, naive Bayes × {:.2g}; "
    gain = "accuracy {accuracy_before:.2%} → {accuracy_after:.2%}"
    if "f1_before" in found:
        gain = "micro F1 {f1_before:.4f} → {f1_after:.4f}"
    return [line.format(*weights) + gain.format_map(found)]
