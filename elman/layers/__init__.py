"""What stands between cells and models: inputs, stacks, connections, dropout, outputs.

Called by the models. In the order of execution: `inputs/` and `topics.py` turn ids into vectors,
`recurrent.py` gives a cell weights, `layer.py` joins one or two directions, `connections.py` leads
around a layer, `stack.py` puts layers on one another, `outputs/` with `softmax.py` make
distributions of what comes out; `dropout.py`, `recurrent_dropout.py`, `zoneout.py` and
`penalties.py` keep them from learning by heart, `padding.py` tells tokens from what fills a batch
up, and `options.py` checks what each of them is told.
"""

from elman.registry import Registry

CONNECTIONS = Registry(
    "connection",
    {
        "none": "elman.layers.connections:Plain",
        "residual": "elman.layers.connections:Residual",
        "dense": "elman.layers.connections:Dense",
        "highway": "elman.layers.connections:Highway",
    },
    group="connections",
)
