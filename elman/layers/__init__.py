"""What stands between cells and models: inputs, stacks, connections, dropout, outputs.

Called by the models. In the order of execution: `inputs.py` turns ids into vectors,
`recurrent.py` gives a cell weights, `layer.py` joins one or two directions and leads around them,
`stack.py` puts layers on one another, `outputs/` with `softmax.py` make distributions of what comes
out; `dropout.py` keeps them from learning by heart.
"""
