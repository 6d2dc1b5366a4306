"""`elman inspect`: look inside a model while it reads."""

from collections.abc import Callable
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elman.atomic import replacing
from elman.cli.arguments import (
    Data,
    InputFile,
    Json,
    Overwrite,
    Seed,
    Settings,
    Threads,
    WholeNumber,
    read_given,
    use_threads,
)
from elman.cli.output import note, print_json, stages
from elman.errors import InputError
from elman.experiments.cells import sentence_for
from elman.figures.files import check_file
from elman.figures.inspection import inspection_page, write_pictures
from elman.insight import INSIGHTS
from elman.insight.inspection import SideBySide
from elman.tasks.language_modelling.inspection import Seen, inspect_several
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load

_HIDDEN = Parameter(show=False)  # for `elman study cells`, formerly `elman inspect` without a run


@Parameter(name="*")
@dataclass(kw_only=True)
class ReportFlags:
    """The input, the views and the files of a report."""

    text: str | None = None
    "The text to read."
    file: InputFile | None = None
    "Read the text from this file instead of --text. Use - for standard input."
    view: Annotated[tuple[str, ...], Parameter(name="--view")] = ()
    "A view to include (elman list insights). Can be repeated. Default: all views."
    tokens: WholeNumber = 120
    "Read at most this many tokens. Time and memory grow with the square of the length."
    out: str = ""
    "Write the report to this file: an .html page that works offline, or .json data."
    pictures: str = ""
    "Write every picture to this folder."
    format: str = "png"
    "The format of the pictures: png or svg."
    overwrite: Overwrite = False
    json: Json = False

    def check(self) -> None:
        """Refuse wrong options and files that cannot be written, before the work."""
        if self.text == "" or (self.text is not None and self.file is not None):
            raise InputError("give either --file or --text, and not an empty text")
        if self.out:
            check_file(self.out, "a report", (".html", ".json"), overwrite=self.overwrite)
        if self.format not in ("png", "svg"):
            raise InputError(f"--format {self.format}: choose png or svg")
        if self.pictures and Path(self.pictures).is_file():
            raise InputError(f"--pictures {self.pictures}: this is a file; name a folder")
        for name in self.view:
            INSIGHTS.check(name)

    def read_text(self, data: str = "") -> str:
        """The text that was given, or the sentence for a corpus."""
        given = self.text is not None or self.file is not None
        return read_given(self.file, self.text).text if given else sentence_for(data)

    def report(self, look: Callable[[Callable[[str], None]], SideBySide]) -> None:
        """Inspect the runs, write the requested files and print a summary."""
        with stages() as progress:
            seen = look(progress)
            files = self._write(seen, progress)
        for one in seen.inspections:
            for message in Seen(one).notes():
                note(f"{one.name}: {message}")
        if self.json:
            print_json(seen.to_data())
            return
        _print(seen)
        for line in files:
            print(line)
        if not files:
            print("\nFor the pictures: --out report.html, or --pictures FOLDER")

    def _write(self, seen: SideBySide, progress: Callable[[str], None]) -> list[str]:
        """Write the files; return one line for each."""
        said = []
        if self.out:
            page = self.out.endswith(".html")
            content = inspection_page(seen) if page else dumps(seen.to_data(), ensure_ascii=False)
            with replacing(Path(self.out)) as temporary:
                temporary.write_text(content, encoding="utf-8")
            said.append(f"\n{'Report' if page else 'Data'}: {self.out}")
        if self.pictures:
            written = write_pictures(seen, Path(self.pictures), self.format, progress)
            said.append(f"\nPictures: {len(written)} in {self.pictures}")
        return said


def inspect(
    *runs: str,
    flags: ReportFlags | None = None,
    threads: Threads = None,
    cells: Annotated[str, _HIDDEN] = "elman,gru,lstm",
    data: Annotated[Data, _HIDDEN] = "tickets",
    set: Annotated[Settings, _HIDDEN] = (),
    seed: Annotated[Seed, _HIDDEN] = None,
) -> None:
    """Look inside neural runs while they read a text.

    The report shows how far gradients reach, how gates and units behave, the surprisal of each
    word, and the words that each prediction depended on. Several runs are shown side by side.
    Without a text, the models read the sentence that lectures use to explain vanishing gradients:
    she finally printed her tickets.

    For example:
      elman inspect runs/ptb --text "the price of gold rose" --out report.html
      elman inspect runs/elman runs/lstm --view gradient-flow --pictures figures --format svg
      cat notes.txt | elman inspect runs/ptb --file - --view surprisal --json

    Parameters
    ----------
    runs
        Run folders of neural language models.
    """
    if not runs:
        from elman.cli.cells import cells as study_cells

        note("inspect without a run is now study cells: elman study cells")
        study_cells(*cells.split(","), data=data, set=set, seed=seed, flags=flags)
        return
    flags = flags or ReportFlags()
    flags.check()
    use_threads(threads)
    if len({*runs}) < len(runs):
        raise InputError("the same run is given twice; give each run once")
    named = {run: (load(run, TrainedModel), None) for run in runs}
    options = {"only": flags.view, "limit": flags.tokens}
    text = flags.read_text()
    flags.report(lambda progress: inspect_several(named, text, **options, progress=progress))


def _print(seen: SideBySide) -> None:
    """Print the summary of each model."""
    for number, one in enumerate(seen.inspections):
        print(f"{chr(10) if number else ''}{one.name}")
        if remembering := seen.remembering.get(one.name):
            print(f"  remembering: {remembering.summary()}")
        for line in Seen(one).lines():
            print(f"  {line}")
