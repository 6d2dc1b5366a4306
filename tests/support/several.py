"""For trainings of several processes: a text, a recipe and a port."""

import socket
from pathlib import Path

from stopping import NETWORK, write_lines

_RECIPE = f"""{NETWORK}
dropout_input = 0.2
weight_drop = 0.2

[training]
batch_size = 4
window = 7
window_jitter = 2
clip = 0.5
optimizer = "sgd"
learning_rate = 2.0
momentum = 0.5
schedule = "plateau"
average = "nt-asgd"
trigger = 1
epochs = 1.2
validate_every = 0.25
"""


def write_text(folder: Path) -> Path:
    """Lines of many lengths, and the recipe; the last batch of four has a single line."""
    return write_lines(folder, {"train": 101, "valid": 30}, _RECIPE)


def free_port() -> int:
    """A port of this machine that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
