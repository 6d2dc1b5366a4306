"""Every value that the cells name while a text is read: gates, cells, candidates, hidden units.

Takes a subject, gives arrays (T, units) by layer and name; row t is what token t left behind. Used
by `units.py`, `saturation.py` and `followers.py`.
"""

from __future__ import annotations

import numpy as np
import torch

from elman.insight.insight import Subject
from elman.insight.recording import watch

NOT_GATES = ("hidden", "cell", "candidate", "state")  # everything else lies between 0 and 1


def activations(subject: Subject) -> dict[str, np.ndarray]:
    """ "layer 1 hidden", "layer 1 forget", … to (T, units), after each token of the text."""
    watched = watch(subject.model)
    with torch.inference_mode():
        model = watched.model
        state = model.start(1)  # reads the end of the line before
        watched.clear()
        model.read(torch.from_numpy(subject.ids)[None], state)
    found: dict[str, np.ndarray] = {}
    for record in watched.records:
        for name in record.values[0]:
            steps = [values[name][0] for values in record.values]
            found[f"{record.name} {name}"] = torch.stack(steps).numpy(force=True)
    return found


def is_gate(name: str, values: np.ndarray) -> bool:
    """Whether these are numbers between 0 and 1 that let something through."""
    return not name.endswith(NOT_GATES) and bool(values.min() >= 0 and values.max() <= 1)
