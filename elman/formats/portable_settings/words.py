"""How a run reads words: settings for `portable/words.py`, and the names of its labels."""

from __future__ import annotations

from typing import Any

import torch

from elman.batches.sentences import LONGEST
from elman.formats.portable_settings.describing import Weights, describe


def word_settings(task: Any) -> dict[str, Any]:
    """The settings of `WordReader` for a task over words."""
    words, splitting = task.words, task.splitting()
    return {
        "longest": LONGEST,
        "seen": words.known,
        "lowercase": words.lowercase,
        "digits_alike": words.digits_alike,
        "form": words.normaliser.form,
        "typographic": words.normaliser.typographic,
        **splitting,
    }


def describe_labelled(run: Any) -> tuple[dict[str, Any], Weights, list[str]]:
    """The settings and weights of a classifier or tagger, calibrated, and the names of its labels.

    A tagger may learn more tags than its files write (BIOES for BIO); it gives the probabilities of
    those written, as `elman tag --probabilities` does.
    """
    settings, weights = describe(run.model)
    settings["temperature"] = run.temperature
    if settings["family"] != "tagger":
        return settings, weights, list(run.task.labels)
    learned = [run.as_marginal(tag) for tag in run.task.tags]
    written = list(dict.fromkeys(learned))
    if written == run.task.tags:
        return settings, weights, written
    alike = torch.zeros(len(learned), len(written))
    for number, name in enumerate(learned):
        alike[number, written.index(name)] = 1
    return settings | {"written": len(written)}, weights | {"alike": alike}, written
