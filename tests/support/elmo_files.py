"""Published ELMo files, as small as can be, with random weights."""

import json
from pathlib import Path

import numpy as np

FILTERS = [[1, 3], [2, 4], [5, 6]]
HIDDEN, PROJECTION, CHARACTER, CLIP = 10, 7, 4, 0.4
OPTIONS = {
    "lstm": {
        "cell_clip": CLIP,
        "dim": HIDDEN,
        "n_layers": 2,
        "proj_clip": CLIP,
        "projection_dim": PROJECTION,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": CHARACTER},
        "filters": FILTERS,
        "max_characters_per_token": 50,
        "n_characters": 262,
        "n_highway": 2,
    },
}


def random_weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    count = sum(number for _, number in FILTERS)
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, CHARACTER)}
    for number, (width, filters) in enumerate(FILTERS):
        shapes[f"CNN/W_cnn_{number}"] = (1, width, CHARACTER, filters)
        shapes[f"CNN/b_cnn_{number}"] = (filters,)
    for number in range(2):
        for kind in ("carry", "transform"):
            shapes[f"CNN_high_{number}/W_{kind}"] = (count, count)
            shapes[f"CNN_high_{number}/b_{kind}"] = (count,)
    shapes |= {"CNN_proj/W_proj": (count, PROJECTION), "CNN_proj/b_proj": (PROJECTION,)}
    for direction in range(2):
        for layer in range(2):
            place = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes[f"{place}/W_0"] = (2 * PROJECTION, 4 * HIDDEN)
            shapes[f"{place}/B"] = (4 * HIDDEN,)
            shapes[f"{place}/W_P_0"] = (HIDDEN, PROJECTION)
    return {name: random.normal(0, 0.6, shape).astype("f4") for name, shape in shapes.items()}


WEIGHTS = random_weights()


def write_elmo(folder: Path, weights: dict = WEIGHTS, options: dict = OPTIONS) -> tuple[Path, Path]:
    import h5py

    (folder / "options.json").write_text(json.dumps(options))
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, values in weights.items():
            file[name] = values
    return folder / "options.json", folder / "weights.hdf5"
