"""Checkpoints by words seen: during a training, run folders of their own.

    runs/mine/checkpoints/chck_1M        after the step that read the millionth word
    runs/mine/checkpoints/chck_2M        every command takes them, like any run

Takes a trainer and the facts of its run; called by `training_run.py`. Words are strings between
white space in the training text; words of a second epoch count again, as in BabyLM. A checkpoint
has the weights that a validation after this step would use, and cannot be resumed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.runs.claim import claimed
from elman.runs.folder import explained, fill
from elman.training.checkpoints import arrays
from elman.training.trainer import Trainer
from elman.training.word_counts import checkpoint_name, parse_word_counts

FOLDER = "checkpoints"


class WordCheckpoints:
    """The numbers of words that are still to come."""

    def __init__(self, at: list[int], words_per_epoch: int, trainer: Trainer) -> None:
        self._at = at
        self._words_per_epoch = words_per_epoch
        self._before = self._seen(trainer)

    def _seen(self, trainer: Trainer) -> float:
        return trainer.epochs_done * self._words_per_epoch

    def reached(self, trainer: Trainer) -> list[int]:
        """The numbers that the last step reached."""
        seen, before = self._seen(trainer), self._before
        self._before = seen
        return [words for words in self._at if before < words <= seen]

    def save(
        self,
        words: int,
        trainer: Trainer,
        folder: Path,
        files: dict[str, Any],
        facts: dict[str, Any],
    ) -> None:
        """Save the current weights as a run; a training that goes through here again replaces it.

        `files`: those that every checkpoint of the run shares.
        """
        place = folder / FOLDER / checkpoint_name(words)
        place.parent.mkdir(exist_ok=True)
        own = {**facts, "validation": None, "words_seen": words}
        own["training"] = {**facts["training"], "finished": True, "checkpoint": True}
        contents = {
            **files,
            "facts.json": own,
            "weights.safetensors": arrays(trainer.weights_to_validate()),
        }
        with explained(place, contents), claimed(place, overwrite=True) as claim:
            fill(claim.folder, contents)
            claim.publish()


def make_checkpoints(trainer: Trainer, facts: dict[str, Any]) -> WordCheckpoints | None:
    """The checkpoints that the settings ask for; None without any."""
    at = parse_word_counts(trainer.config.checkpoints_at_words)
    if not at:
        return None
    words = facts["data"].get("words_per_epoch")
    if not words:
        raise InputError(
            "training.checkpoints_at_words: only language models of running text count words; "
            "leave it out"
        )
    return WordCheckpoints(at, words, trainer)
