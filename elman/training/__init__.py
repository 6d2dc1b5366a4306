"""The training of neural models: one loop that knows no model and cannot lose work.

Takes a model with a `loss`, batches and settings; gives a trained model, a history and snapshots
from which the run goes on bit for bit. Called by the tasks, which put snapshots on disk.

In the order of execution: `settings.py` says what can be chosen, and within which limits;
`optimizers.py`, `schedules.py`, `averaging.py` and `regimes/` are the parts; `trainer.py` takes one
step, counts in `counters.py`, and can be saved and restored whole by a `snapshot.py`; `loop.py`
takes all steps, validates, saves, recovers and stops; `processes.py` and `several_processes.py` are
all that is known of training with several processes; `history.py` writes down and draws what
happened.
"""
