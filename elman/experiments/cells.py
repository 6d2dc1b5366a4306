"""Train small networks that differ only in their cell, in a few minutes, and compare them.

Takes names of cells and a corpus, gives trained models with the records of their training; called
by `elman study cells`. On the `tickets` corpus it also measures after every epoch the probability
of the last word of unseen stories, by distance; training stops early when a network knows the word
at every distance.

LSTMs begin with open forget gates, σ(3) = 0.95, because half-open gates forget within a few words
what training would have to find (Gers et al. 2000; Józefowicz et al. 2015 begin with 1).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from elman.cells import CELLS
from elman.errors import InputError
from elman.insight.remembering import Remembering, probability_by_distance, rows_by_distance
from elman.recipes import load_recipe
from elman.tasks.gradient_task import build_trainer
from elman.tasks.language_modelling.inspection import Records
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import read_lesson, train
from elman.text.recall import THINGS, TICKET_SENTENCE, Tickets
from elman.text.tokenizer import Tokenizer
from elman.training.loop import Loop
from elman.training.machine import Machine
from elman.training.trainer import Trainer

COMPARED = ("elman", "gru", "lstm")
CORPUS = "tickets"
# The default texts to inspect.
SENTENCES = {
    "tickets": TICKET_SENTENCE.removesuffix("."),  # the last word is the one that matters
    # The last verb agrees with the first noun, across the words between them.
    "grammar": "boys who see cat who chases girl who feeds dog who hears John walk",
}
_HELD_OUT_LINES = 8_000  # a twentieth of them is measured after every epoch
_SETTINGS = (
    "text.tokenizer=raw-words",
    "model.context=line",
    "model.hidden_size=64",
    "model.embedding_size=64",
    "model.tied=false",
    "model.dropout_input=0",
    "model.dropout_output=0",
)
# Learning to remember a word takes long, with a constant learning rate.
_TICKETS = ("training.epochs=60", "training.schedule=constant")
_OTHERS = ("training.epochs=2",)
_THREADS = 1  # fastest for networks this small
_FORGET_BIAS = "model.options.forget_bias=3"


@dataclass(frozen=True)
class ComparedCell:
    """A trained network, its training records, and its memory on `tickets`."""

    trained: TrainedModel
    records: Records
    remembering: Remembering | None = None


def train_cells(
    cells: Sequence[str] = COMPARED,
    data: str = CORPUS,
    *,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> dict[str, ComparedCell]:
    """Train one network per cell with the recipe `small` and a few changed settings."""
    for cell in cells:
        CELLS.check(cell)
    if len({*cells}) < len(cells):
        raise InputError(f"cells {', '.join(cells)}: name each of them once")
    tickets = data.partition(":")[0] == CORPUS
    found = {}
    for cell in cells:
        progress(f"training {cell} on {data}")
        settings = [f"model.cell={cell}", *_SETTINGS, *(_TICKETS if tickets else _OTHERS)]
        if hasattr(CELLS[cell], "gates") and "f" in CELLS[cell].gates:
            settings.append(_FORGET_BIAS)
        settings += overrides
        if tickets:
            found[cell] = _train_on_tickets(cell, data, settings, seed, progress)
            continue
        records: Records = []
        machine = Machine(record=records.append, threads=_THREADS)
        trained = train(
            "small",
            data=data,
            overrides=settings,
            seed=seed,
            machine=machine,
            kind=TrainedModel,
        )
        found[cell] = ComparedCell(trained, records)
    return found


def sentence_for(data: str) -> str:
    """The default text to inspect for a corpus."""
    return SENTENCES.get(data.partition(":")[0], SENTENCES[CORPUS])


class _Solved(Exception):
    """Ends a training early."""


def _train_on_tickets(
    cell: str, data: str, settings: list[str], seed: int | None, progress: Callable[[str], None]
) -> ComparedCell:
    config = load_recipe("small", settings, seed)
    device = Machine(threads=_THREADS).prepare()
    lesson = read_lesson(config, data)
    trainer = build_trainer(lesson, device)
    records: Records = []
    remembering = Remembering(choices=len(THINGS))
    loop = Loop(
        trainer,
        save=lambda snapshot: None,
        record=records.append,
        progress=lambda moment: None,
        after_step=_watch(
            lesson.task.tokenizer, remembering, lambda said: progress(f"{cell}: {said}")
        ),
    )
    with suppress(_Solved):
        loop.run()
    model = trainer.model.eval()
    facts = {**lesson.facts(), "model": model.facts(), "validation": None}
    return ComparedCell(TrainedModel(lesson.task, model, facts), records, remembering)


def _watch(
    tokenizer: Tokenizer, remembering: Remembering, progress: Callable[[str], None]
) -> Callable[[Trainer], None]:
    """Measure after every epoch; end the training when the word is known at every distance."""
    stories = Tickets(lines=_HELD_OUT_LINES).text("test").splitlines()
    rows = rows_by_distance(tokenizer, (story.removesuffix(".") for story in stories))

    def look(trainer: Trainer) -> None:
        epoch = int(trainer.epochs_done + 1e-9)
        if not trainer.finished and epoch in (0, *remembering.epochs):
            return
        found = probability_by_distance(trainer.model.eval(), rows)
        trainer.model.train()
        remembering.epochs.append(epoch)
        remembering.probabilities.append(found)
        progress(f"epoch {epoch}, P(last word) at least {min(found.values()):.2f}")
        if remembering.solved:
            raise _Solved

    return look
