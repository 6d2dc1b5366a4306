"""The training of neural models: one loop that knows no model and cannot lose work.

Takes a model with a `loss`, batches and settings; gives a trained model, a history and snapshots
from which the run goes on bit for bit. Called by the tasks, which put snapshots on disk.

In the order of execution: `settings.py` says what can be chosen; `optimizers.py`, `schedules.py`
and `averaging.py` are the parts; `trainer.py` takes one step and can be saved and restored whole;
`loop.py` takes all steps, validates, saves, recovers and stops; `processes.py` is all that is known
of training with several processes; `history.py` writes down and draws what happened.
"""
