"""What stands between cells and models: inputs, stacks, connections, dropout, outputs.

Called by the models. In the order of execution: `inputs.py` and `topics.py` turn ids into vectors,
`recurrent.py` gives a cell weights, `layer.py` joins one or two directions, `connections.py` leads
around a layer, `stack.py` puts layers on one another, `outputs/` with `softmax.py` make
distributions of what comes out; `dropout.py` and `wrapped_cells.py` keep them from learning by
heart, and `padding.py` tells tokens from what fills a batch up.
"""
