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
