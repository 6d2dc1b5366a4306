"""What stands between cells and models: inputs, stacks, connections, dropout, outputs.

Called by the models. In the order of execution: `inputs/` and `topics.py` turn ids into vectors,
`recurrent.py` gives a cell weights, `layer.py` joins one or two directions, `connections.py` leads
around a layer, `stack.py` puts layers on one another, `outputs/` with `softmax.py` make
distributions of what comes out; `dropout.py`, `recurrent_dropout.py`, `zoneout.py` and
`penalties.py` keep them from learning by heart, and `options.py` checks what each of them is told.
"""

from elman.layers.connections import CONNECTIONS

__all__ = ["CONNECTIONS"]
