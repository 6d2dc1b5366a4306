"""What stands between cells and models: weights, stacks, connections, dropout and penalties.

Takes vectors (B, T, size) and a state, gives vectors and the state after them; called by the
models. In the order of execution: `cell_options.py` checks what a cell is told, `recurrent.py`
gives it weights, `layer.py` joins one or two directions, `connections.py` leads around a layer,
`stack.py` puts layers on one another; `dropout.py`, `recurrent_dropout.py` and `penalties.py` keep
them from learning by heart.
"""

from elman.layers.connections import CONNECTIONS

__all__ = ["CONNECTIONS"]
