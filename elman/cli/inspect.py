"""`elman inspect`: what goes on inside a model while it reads."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Json, Overwrite, Seed, Settings, WholeNumber
from elman.cli.input_text import InputFile, read_given
from elman.cli.output import note, print_json, stages
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.insight.inspection import SideBySide


def inspect(
    *runs: str,
    text: str | None = None,
    file: InputFile | None = None,
    view: Annotated[tuple[str, ...], Parameter(name="--view")] = (),
    tokens: WholeNumber = 120,
    cells: str = "elman,gru,lstm",
    data: str = "tickets",
    set: Settings = (),
    seed: Seed = None,
    out: str = "",
    pictures: str = "",
    format: str = "png",
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Look inside neural runs while they read a text: how far gradients reach, what gates and units
    do, how surprised they are, and which words a prediction depended on.

    Several runs are shown side by side. Without a run, an Elman network, a GRU and an LSTM are
    trained on a built-in corpus for a few minutes and compared: on `tickets`, also by how well
    they remember a word that stands 6 to 40 tokens back, epoch by epoch. Without a text, they read
    the sentence with which lectures explain vanishing gradients: she finally printed her tickets.

    For example:
      elman inspect --out cells.html
      elman inspect --data grammar --cells elman,lstm --out grammar.html
      elman inspect runs/ptb --text "the price of gold rose" --out report.html
      elman inspect runs/elman runs/lstm --view gradient-flow --pictures figures --format svg
      cat notes.txt | elman inspect runs/ptb --file - --view surprisal --json

    Parameters
    ----------
    runs
        Run folders of neural language models; none: train --cells on --data.
    text
        The text that is read.
    file
        A text file instead; - for standard input.
    view
        What to look at (elman list insights); all unless given. May be given several times.
    tokens
        How many tokens of the text are looked at, from its beginning; time and memory grow with
        the square.
    cells
        Without a run: which cells are trained (elman list cells), with commas between them.
    data
        Without a run: what they are trained on, as in elman train.
    out
        An .html file to write: a page that opens without a server or a network; or a .json file.
    pictures
        A folder to write every picture to.
    format
        Of the pictures: png or svg.
    """
    _check(out, pictures, format, overwrite, text, file)
    from elman.insight import INSIGHTS

    for name in view:
        INSIGHTS.check(name)
    with stages() as progress:
        seen = _look(
            runs,
            read_given(file, text).text if text or file else None,
            {"only": view, "limit": tokens},
            {"cells": cells.split(","), "data": data, "overrides": set, "seed": seed},
            progress,
        )
        files = _write(seen, out, pictures, format, progress)
    for one in seen.inspections:
        if one.left_out:
            note(f"{one.name}: read {one.tokens:,} tokens, left out {one.left_out:,} (--tokens)")
    if json:
        print_json(seen.to_data())
        return
    _print(seen)
    for line in files:
        print(line)
    if not files:
        print("\nFor the pictures: --out report.html, or --pictures FOLDER")


def _check(
    out: str, pictures: str, form: str, overwrite: bool, text: str | None, file: str | None
) -> None:
    """Refuse what cannot be written, before the work."""
    if text is not None or file is not None:
        read_nothing = text == "" or (text is not None and file is not None)
        if read_nothing:
            raise InputError("give either --file or --text, with some text in it")
    if out and not out.endswith((".html", ".json")):
        raise InputError(f"--out {out}: name a file that ends in .html or .json")
    if out and Path(out).exists() and not overwrite:
        raise InputError(f"{out}: exists already; choose another --out or add --overwrite")
    if out and not Path(out).absolute().parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {Path(out).parent}; make it first")
    if form not in ("png", "svg"):
        raise InputError(f"--format {form}: choose png or svg")
    if pictures and Path(pictures).is_file():
        raise InputError(f"--pictures {pictures}: is a file; name a folder")


def _look(
    runs: tuple[str, ...],
    text: str | None,
    options: dict[str, Any],
    training: dict[str, Any],
    progress: Callable[[str], None],
) -> "SideBySide":
    """Load or train, and look."""
    from elman.experiments.cells import sentence_for, train_cells
    from elman.tasks.language_modelling.inspection import inspect_several
    from elman.tasks.language_modelling.trained import TrainedModel
    from elman.tasks.task import load

    if runs:
        if len({*runs}) < len(runs):
            raise InputError("the same run is named twice; name each of them once")
        named = {run: (load(run, TrainedModel), None) for run in runs}
        return inspect_several(named, text or sentence_for(""), **options, progress=progress)
    cells = train_cells(**training, progress=progress)
    text = text or sentence_for(training["data"])
    trained = {name: (cell.trained, cell.records) for name, cell in cells.items()}
    seen = inspect_several(trained, text, **options, progress=progress)
    remembering = {name: cell.remembering for name, cell in cells.items() if cell.remembering}
    return replace(seen, remembering=remembering)


def _write(
    seen: "SideBySide", out: str, pictures: str, form: str, progress: Callable[[str], None]
) -> list[str]:
    """The files that were asked for; a line for each."""
    from json import dumps

    from elman.atomic import replacing
    from elman.figures.inspection import write_pictures
    from elman.figures.inspection_page import inspection_page

    said = []
    if out:
        page = out.endswith(".html")
        content = inspection_page(seen) if page else dumps(seen.to_data(), ensure_ascii=False)
        with replacing(Path(out)) as temporary:
            temporary.write_text(content, encoding="utf-8")
        said.append(f"\n{'Report' if page else 'Data'}: {out}")
    if pictures:
        written = write_pictures(seen, Path(pictures), form, progress)
        said.append(f"\nPictures: {len(written)} in {pictures}")
    return said


def _print(seen: "SideBySide") -> None:
    """What there is to say in words, model by model."""
    for number, one in enumerate(seen.inspections):
        print(f"{chr(10) if number else ''}{one.name}")
        if remembering := seen.remembering.get(one.name):
            print(f"  remembering: {remembering.summary()}")
        for name, insight in one.insights.items():
            for sentence in insight.summary():
                print(f"  {name}: {sentence}")
        for name, reason in one.unseen.items():
            print(f"  {name}: not shown, {reason}")
