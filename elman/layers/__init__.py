"""Layers between cells and models: inputs, stacks, connections, dropout, outputs.

Called by the models. In the order of execution: `inputs.py` turns ids into vectors, `recurrent.py`
adds weights to a cell, `layer.py` joins one or two directions and adds a connection around them,
`stack.py` stacks layers, `outputs/` and `softmax.py` compute distributions; `dropout.py` prevents
overfitting.
"""
