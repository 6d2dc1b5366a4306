"""The questions of a bidirectional language model."""

from elman.tasks.embed import EMBED

QUESTIONS = {"embed": EMBED}
