"""Train neural models: one loop that is independent of the model and never loses work.

Takes a model with a `loss`, batches and settings; gives a trained model, a history and snapshots
from which a run continues bit for bit. Called by the tasks, which save snapshots to disk.

In the order of execution: `settings.py` defines the hyperparameters and their limits;
`optimizers.py`, `schedules.py`, `averaging.py` and `regimes/` are the parts; `trainer.py` takes one
step, counts in `counters.py`, and is saved and restored with `snapshot.py`; `loop.py` takes all
steps, validates, saves, recovers and stops; `processes.py` and `several_processes.py` contain
everything about training with several processes; `history.py` records and plots the training.
"""
