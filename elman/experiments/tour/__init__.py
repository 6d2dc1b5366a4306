"""The tour: what each step from counting words to gated recurrence buys, seen in a few minutes.

Takes nothing, gives a `Tour` (`ladder.py`) and a page that shows it (`report.py`). Nothing is
downloaded.
"""

from elman.experiments.tour.ladder import RUNGS, SHOWN, Rung, Tour, climb, grammar_limits, tour

__all__ = ["RUNGS", "SHOWN", "Rung", "Tour", "climb", "grammar_limits", "tour"]
