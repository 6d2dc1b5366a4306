"""Small networks that differ in their cell alone, trained in a minute to be looked at.

Takes names of cells and a corpus, gives trained models with the records of their trainings; called
by `elman inspect` when no run is named. An LSTM begins with open forget gates, σ(3) = 0.95, since
gates that begin half open forget within a few words what the training would have to find (Gers et
al. 2000; Józefowicz et al. 2015 begin with 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from elman.cells import CELLS
from elman.errors import InputError
from elman.tasks.inspection import Records
from elman.tasks.language_model import TrainedModel
from elman.tasks.machine import Machine
from elman.tasks.training import train
from elman.text.tickets import TICKET_SENTENCE

COMPARED = ("elman", "gru", "lstm")
CORPUS = "tickets"
# What is read where nothing else is given.
SENTENCES = {
    "tickets": TICKET_SENTENCE.removesuffix("."),  # the last word is the one that matters
    # The last verb agrees with the first noun, whatever stands between them.
    "grammar": "boys who see cat who chases girl who feeds dog who hears John walk",
}
_SETTINGS = (
    "text.tokenizer=raw-words",
    "model.context=line",
    "model.hidden_size=64",
    "model.embedding_size=64",
    "model.tied=false",
    "model.dropout_input=0",
    "model.dropout_output=0",
)
_EPOCHS = {"tickets": 6}  # a small corpus; of others two
_FORGET_BIAS = "model.options.forget_bias=3"


def train_cells(
    cells: Sequence[str] = COMPARED,
    data: str = CORPUS,
    *,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> dict[str, tuple[TrainedModel, Records]]:
    """One model per cell, by its name: the recipe small but for a few settings."""
    for cell in cells:
        CELLS.check(cell)
    if len({*cells}) < len(cells):
        raise InputError(f"cells {', '.join(cells)}: name each of them once")
    found = {}
    for cell in cells:
        progress(f"training {cell} on {data}")
        epochs = _EPOCHS.get(data.partition(":")[0], 2)
        settings = [f"model.cell={cell}", f"training.epochs={epochs}", *_SETTINGS]
        if hasattr(CELLS[cell], "gates") and "f" in CELLS[cell].gates:
            settings.append(_FORGET_BIAS)
        records: Records = []
        machine = Machine(record=records.append)
        overridden = [*settings, *overrides]
        trained = train("small", data=data, overrides=overridden, seed=seed, machine=machine)
        found[cell] = (trained, records)
    return found


def sentence_for(data: str) -> str:
    """What is read of a corpus where nothing else is given."""
    return SENTENCES.get(data.partition(":")[0], SENTENCES[CORPUS])
