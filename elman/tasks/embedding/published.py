"""Published ELMo weights: options.json and an HDF5 file, into a `BidirectionalModel`.

Takes the two files, returns a model that embeds but cannot score, because the files contain no
softmax. Their matrices are (in, out), ours are (out, in). Their gates are in the order i, g, f, o,
ours in i, f, g, o. We add 1 to the bias of the forget gate, which TensorFlow adds at run time.

    char_embed                                      (261, size): without the mask, our row 0
    CNN/W_cnn_k, b_cnn_k                            (1, width, size, filters), (filters,)
    CNN_high_k/W_carry, b_carry, W_transform, …     gates and layers of the highways
    CNN_proj/W_proj, b_proj                         where there are not as many filters as outputs
    RNN_d/RNN/MultiRNNCell/Cellk/LSTMCell/W_0, B    ([input; state], 4 hidden), (4 hidden,)
                                  …/W_P_0           (hidden, projection)
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elman.errors import InputError
from elman.extras import import_extra
from elman.models.bidirectional import BidirectionalConfig, BidirectionalModel
from elman.recipes import RunConfig
from elman.tasks.embedding.task import Embedding, TrainedEmbedding
from elman.text.task_config import LinesConfig
from elman.text.word_list import WordList

_FORGET_BIAS = 1.0


def read_elmo(options: str | Path, weights: str | Path) -> BidirectionalModel:
    """The model in the two files, ready to embed."""
    model = BidirectionalModel(read_options(Path(options)))
    with _open(Path(weights)) as file, torch.no_grad():
        arrays = _Arrays(file, Path(weights))
        _fill_characters(model, arrays)
        for direction, reader in enumerate(model.readers):
            for number, layer in enumerate(reader.get_submodule("stack").children()):
                place = f"RNN_{direction}/RNN/MultiRNNCell/Cell{number}/LSTMCell"
                _fill_layer(layer.get_submodule("weights"), arrays, place)
    return model.eval()


def import_elmo(options: str | Path, weights: str | Path) -> TrainedEmbedding:
    """Import as a run: it embeds and can be part of a task, but predicts nothing."""
    model = read_elmo(options, weights)
    config = RunConfig(
        recipe="import", seed=0, text=LinesConfig(), kind="bidirectional", model=model.config
    )
    nothing = WordList([], [], lowercase=False, digits_alike=False)
    sha256 = {str(path): _sha256(path) for path in (options, weights)}
    facts = {
        "model": {**model.facts(), "notes": []},
        "data": {"name": str(weights), "sha256": sha256, "notes": []},
        "task": {},
        "validation": None,
    }
    return TrainedEmbedding(Embedding(config, nothing, None), model, facts)


def _sha256(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_options(path: Path) -> BidirectionalConfig:
    """Sizes from options.json."""
    try:
        options = json.loads(path.read_text(encoding="utf-8"))
        lstm, characters = options["lstm"], options["char_cnn"]
        activation = characters["activation"]
        config = BidirectionalConfig(
            character_size=characters["embedding"]["dim"],
            widths=tuple(width for width, _ in characters["filters"]),
            filters=tuple(count for _, count in characters["filters"]),
            highways=characters.get("n_highway") or 0,
            longest=characters["max_characters_per_token"],
            projection=lstm["projection_dim"],
            hidden_size=lstm["dim"],
            num_layers=lstm.get("n_layers", 1),
            residual=bool(lstm.get("use_skip_connections")),
            cell_clip=lstm.get("cell_clip"),
            projection_clip=lstm.get("proj_clip"),
            dropout=options.get("dropout", 0.1),
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: not the options of an ELMo model ({error})") from None
    except KeyError as error:
        raise InputError(f"{path}: not the options of an ELMo model: no {error}") from None
    if activation != "relu":
        raise InputError(f"{path}: activation {activation!r}: only filters with relu can be read")
    return config


class _Arrays:
    """The arrays of an HDF5 file; refuses arrays that do not fit."""

    def __init__(self, file: Any, path: Path) -> None:
        self._file = file
        self._path = path

    def get(self, name: str) -> torch.Tensor:
        try:
            return torch.from_numpy(np.asarray(self._file[name], dtype=np.float32))
        except KeyError:
            raise InputError(f"{self._path}: not ELMo weights: no {name!r} in it") from None

    def put(self, name: str, values: torch.Tensor, into: torch.Tensor) -> None:
        """Values that came from one of them, into a weight of their shape."""
        if values.shape != into.shape:
            raise InputError(
                f"{self._path}: {name} has shape {tuple(values.shape)}, but the options "
                f"need {tuple(into.shape)}; give the options file that belongs to the weights"
            )
        into.copy_(values)

    def linear(self, name: str, weight: str, bias: str, into: Any) -> None:
        """A matrix and its bias under one name, into a linear layer."""
        self.put(f"{name}/{weight}", self.get(f"{name}/{weight}").t(), into.weight)
        self.put(f"{name}/{bias}", self.get(f"{name}/{bias}"), into.bias)


def _fill_characters(model: BidirectionalModel, arrays: _Arrays) -> None:
    characters = model.characters
    arrays.put("char_embed", arrays.get("char_embed"), characters.vectors.weight[1:])
    for number, filters in enumerate(characters.filters):
        name = f"CNN/W_cnn_{number}"
        # (1, width, size, filters) to (filters, width · size)
        arrays.put(name, arrays.get(name).flatten(0, 2).t(), filters.get_parameter("weight"))
        name = f"CNN/b_cnn_{number}"
        arrays.put(name, arrays.get(name), filters.get_parameter("bias"))
    for number, highway in enumerate(characters.highways):
        name = f"CNN_high_{number}"
        arrays.linear(name, "W_carry", "b_carry", highway.get_submodule("gate"))
        arrays.linear(name, "W_transform", "b_transform", highway.get_submodule("transform"))
    if isinstance(characters.project, torch.nn.Linear):
        arrays.linear("CNN_proj", "W_proj", "b_proj", characters.project)


def _fill_layer(weights: Any, arrays: _Arrays, place: str) -> None:
    """One layer of LSTM in one direction."""
    matrix = _reordered(arrays.get(f"{place}/W_0").t())
    inputs = weights["gates_input"].shape[1]
    arrays.put(f"{place}/W_0", matrix[:, :inputs], weights["gates_input"])
    arrays.put(f"{place}/W_0", matrix[:, inputs:], weights["gates_state"])
    bias = _reordered(arrays.get(f"{place}/B"))
    hidden_size = len(bias) // 4
    bias[hidden_size : 2 * hidden_size] += _FORGET_BIAS
    arrays.put(f"{place}/B", bias, weights["gates_bias"])
    if "projection" in weights:
        name = f"{place}/W_P_0"
        arrays.put(name, arrays.get(name).t(), weights["projection"])


def _reordered(rows: torch.Tensor) -> torch.Tensor:
    """Rows of gates i, g, f, o in the order i, f, g, o."""
    write, candidate, forget, read = rows.chunk(4)
    return torch.cat([write, forget, candidate, read])


def _open(path: Path) -> Any:
    """An HDF5 file, open for reading."""
    h5py = import_extra("h5py", "ELMo weights are HDF5 files, and h5py is not installed")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"{path}: cannot be read as HDF5 ({error})") from None
