"""`elman study cells`: compare the inside of small networks that differ only in their cell."""

from collections.abc import Callable
from dataclasses import replace

from elman.cli.arguments import Data, Seed, Settings
from elman.cli.inspect import ReportFlags
from elman.experiments.cells import COMPARED, train_cells
from elman.insight.inspection import SideBySide
from elman.tasks.language_modelling.inspection import inspect_several


def cells(
    *names: str,
    data: Data = "tickets",
    set: Settings = (),
    seed: Seed = None,
    flags: ReportFlags | None = None,
) -> None:
    """Train networks that differ only in their cell, and look inside them.

    The networks train on a built-in corpus for a few minutes and are then compared as in elman
    inspect. On `tickets`, the report also shows how well they remember a word 6 to 40 tokens back,
    epoch by epoch. Without a text, they read the sentence that lectures use to explain vanishing
    gradients: she finally printed her tickets.

    For example:
      elman study cells --out cells.html
      elman study cells elman lstm --data grammar --out grammar.html

    Parameters
    ----------
    names
        Cells to compare (elman list cells). Default: elman, gru and lstm.
    data
        The text to train on, as in elman train.
    """
    flags = flags or ReportFlags()
    flags.check()
    text = flags.read_text(data)

    def look(progress: Callable[[str], None]) -> SideBySide:
        found = train_cells(names or COMPARED, data, overrides=set, seed=seed, progress=progress)
        trained = {name: (cell.trained, cell.records) for name, cell in found.items()}
        options = {"only": flags.view, "limit": flags.tokens}
        seen = inspect_several(trained, text, **options, progress=progress)
        remembering = {name: cell.remembering for name, cell in found.items() if cell.remembering}
        return replace(seen, remembering=remembering)

    flags.report(look)
