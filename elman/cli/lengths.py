"""`elman study lengths`: score translation runs by the length of the source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyclopts import Parameter

from elman.cli.arguments import Columns, Data, Json, Split, Threads, WholeNumber, use_threads
from elman.cli.ask import open_run
from elman.cli.output import note, print_json, print_table, stages
from elman.errors import InputError
from elman.experiments.lengths import Lengths, compare_lengths
from elman.figures.files import check_file
from elman.figures.studies import draw_lengths
from elman.text.tables import parse_columns


@Parameter(name="*")
@dataclass(kw_only=True)
class LengthFlags:
    """The measure, the bands of length and the search."""

    measure: str | None = None
    "bleu, chrf, rouge-1, rouge-2, rouge-l or exact. Default: the main measure of the run."
    bands: WholeNumber = 3
    "The number of length bands, with about the same number of lines each."
    bounds: str = ""
    "Instead of --bands: the longest source, in words, of every band but the last: 10,20,30."
    beam: WholeNumber = 5
    "The beam width; 1 is greedy search."
    batch_size: WholeNumber = 64
    "The number of sources per batch. Does not change the result."

    def options(self) -> dict[str, Any]:
        """The options in the form that `compare_lengths` takes."""
        return {**vars(self), "bounds": _whole_numbers(self.bounds)}


def lengths(
    run: str,
    /,
    *others: str,
    data: Data,
    split: Split = None,
    columns: Columns = None,
    flags: LengthFlags | None = None,
    out: str | None = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Score translation runs on short and on long sources.

    This shows the bottleneck: without attention, scores fall as sources get longer.

    For example:
      elman study lengths runs/attention runs/none --data reverse --out lengths.png
      elman study lengths runs/en-de runs/en-de-none --data multi30k --bands 5
      elman study lengths runs/en-de --data multi30k --bounds 10,20 --measure chrf --json

    Parameters
    ----------
    run
        The run folder of an encoder–decoder, the baseline.
    others
        Run folders to compare with it, trained on the same pairs.
    out
        Draw the curves into this file, .png or .svg.
    """
    place = None if out is None else check_file(out, "a picture")
    options = (flags or LengthFlags()).options()
    use_threads(threads)
    with stages() as progress:
        names = _names((run, *others))
        runs = [open_run(path, "translate").named(name) for name, path in names.items()]
        if columns is not None:
            runs = [each.with_columns(parse_columns(columns)) for each in runs]
        found = compare_lengths(runs, data, split=split, **options, progress=progress)
    if place is not None:
        draw_lengths(found, place)
    if json:
        print_json(found.to_data())
        return
    _print(found)


def _names(paths: tuple[str, ...]) -> dict[str, str]:
    """Paths by their last part, or by the whole path if two last parts are the same."""
    names = {Path(path).resolve().name: path for path in paths}
    return names if len(names) == len(paths) else dict(zip(paths, paths, strict=True))


def _whole_numbers(bounds: str) -> list[int]:
    try:
        return [int(bound) for bound in bounds.split(",") if bound.strip()]
    except ValueError:
        raise InputError(f"--bounds {bounds}: give whole numbers like 10,20,30") from None


def _print(found: Lengths) -> None:
    """Print a line per band; the lead of the first run is in the last columns."""
    gaps = found.gaps()
    names = [run.name for run in found.runs]
    differences = [f"{names[0]} − {name}" for name in names[1:]]
    rows = []
    for place, band in enumerate(found.bands):
        scores = [run.by_length[place] for run in found.runs]
        rows.append([band.name, f"{band.lines:,}", *_shown(found, scores, gaps, place)])
    whole = [run.whole for run in found.runs]
    ahead = [[whole[0] - other] for other in whole[1:]]
    lines = f"{sum(band.lines for band in found.bands):,}"
    rows.append(["all", lines, *_shown(found, whole, ahead, 0)])
    print_table(["source length", "lines", *names, *differences], rows)
    print(f"{found.measure_name}, by the words of the source", end="")
    print(f"; {found.signature}" if found.signature else "")
    for line in found.notes:
        note(line)


def _shown(found: Lengths, scores: list[float], gaps: list[list[float]], place: int) -> list[str]:
    digits = found.digits
    ahead = [f"{gap[place]:+.{digits}f}" for gap in gaps]
    return [*(f"{score:.{digits}f}" for score in scores), *ahead]
