"""Fingerprints that compare versions, trainings and processors."""

import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file

# Keys of answers: wording and surroundings, which may change from version to version.
NOT_COMPARED = ("run", "model", "protocol", "signatures", "what")


def weights_hashes(run: Path) -> dict[str, str]:
    """Hashes over the best and the last weights of a training, whatever their names and order."""
    files = json.loads((run / "manifest.json").read_text())["files"]
    found = {}
    for name in ("weights.safetensors", "last.safetensors"):
        arrays = load_file(run / files[name].get("stored", name)).values()
        hashes = sorted(hashlib.sha256(array.tobytes()).hexdigest() for array in arrays)
        found[name] = hashlib.sha256("".join(hashes).encode()).hexdigest()
    return found


def arithmetic() -> str:
    """A hash of a few results: alike where this processor and torch round alike."""
    drawn = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 65, 65)).astype(np.float32))
    left, right = drawn
    results = [left @ right, left.tanh(), left.exp(), left.sigmoid(), left.logsumexp(1), left.sum()]
    bits = b"".join(result.numpy().tobytes() for result in results)
    return hashlib.sha256(bits + torch.__version__.encode()).hexdigest()[:16]


def arithmetic_of_training() -> str:
    """A hash of small trainings in plain torch: alike where processor and torch train alike.

    Products of a few rows and columns, and optimizers, are rounded otherwise by processors on which
    `arithmetic` is the same.
    """
    drawn = np.random.default_rng(0)
    bits = torch.__version__.encode()
    for width, optimizer in ((6, torch.optim.SGD), (7, torch.optim.Adam), (13, torch.optim.Adam)):
        shapes = ((width, 4 * width), (4 * width, width), (width,))
        weights = [
            torch.from_numpy(drawn.normal(0, 0.3, shape).astype(np.float32)).requires_grad_()
            for shape in shapes
        ]
        values = torch.from_numpy(drawn.normal(size=(5, 4, width)).astype(np.float32))
        updates = optimizer(weights, lr=0.01)
        for batch in values.repeat(6, 1, 1):
            inner, outer, bias = weights
            gates = (batch @ inner).sigmoid() * (batch @ inner).tanh()
            loss = (gates @ outer + bias).log_softmax(1)[:, 0].mean().neg()
            updates.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            updates.step()
        bits += b"".join(weight.detach().numpy().tobytes() for weight in weights)
    return hashlib.sha256(bits).hexdigest()[:16]
