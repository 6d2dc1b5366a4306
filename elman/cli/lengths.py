"""`elman study lengths`: runs that translate, scored by the length of the source."""

from pathlib import Path

from elman.cli.arguments import Columns, Data, Json, Split, WholeNumber
from elman.cli.ask import open_run
from elman.cli.output import note, print_json, print_table, stages
from elman.errors import InputError
from elman.experiments.lengths import Lengths, compare_lengths
from elman.figures.files import check_file
from elman.figures.lengths import draw_lengths
from elman.text.tables import parse_columns


def lengths(
    run: str,
    /,
    *others: str,
    data: Data,
    split: Split = None,
    columns: Columns = None,
    measure: str | None = None,
    bands: WholeNumber = 3,
    bounds: str = "",
    beam: WholeNumber = 5,
    batch_size: WholeNumber = 64,
    out: str | None = None,
    json: Json = False,
) -> None:
    """Score translation runs on short and on long sources.

    So the bottleneck shows: without attention, scores fall as sources get longer.

    For example:
      elman study lengths runs/attention runs/none --data reverse --out lengths.png
      elman study lengths runs/en-de runs/en-de-none --data multi30k --bands 5
      elman study lengths runs/en-de --data multi30k --bounds 10,20 --measure chrf --json

    Parameters
    ----------
    run
        A run folder of an encoder–decoder; the others are compared with it.
    others
        More runs, over the same pairs.
    measure
        bleu, chrf, rouge-1, rouge-2, rouge-l or exact; by default the one that the run has.
    bands
        Bands of length, of about as many lines each.
    bounds
        The longest source, in words, of every band but the last, instead: 10,20,30.
    beam
        Search with so many at a time; 1: word after word (greedy).
    batch_size
        Sources side by side. Never changes the result.
    out
        A picture of the curves, .png or .svg.
    """
    place = None if out is None else check_file(out, "a picture")
    limits = _whole_numbers(bounds)
    with stages() as progress:
        runs = [open_run(each, "translate") for each in (run, *others)]
        names = _names((run, *others))
        runs = [each.named(name) for each, name in zip(runs, names, strict=True)]
        if columns is not None:
            runs = [each.with_columns(parse_columns(columns)) for each in runs]
        found = compare_lengths(
            runs,
            data,
            split=split,
            measure=measure,
            bands=bands,
            bounds=limits,
            beam=beam,
            batch_size=batch_size,
            progress=progress,
        )
    if place is not None:
        draw_lengths(found, place)
    if json:
        print_json(found.to_data())
        return
    _print(found)


def _names(paths: tuple[str, ...]) -> list[str]:
    """The last part of each path, which is enough unless two of them are the same."""
    names = [Path(path).resolve().name for path in paths]
    return [*paths] if len({*names}) < len(names) else names


def _whole_numbers(bounds: str) -> list[int]:
    try:
        return [int(bound) for bound in bounds.split(",") if bound.strip()]
    except ValueError:
        raise InputError(f"--bounds {bounds}: give whole numbers like 10,20,30") from None


def _print(found: Lengths) -> None:
    """A line per band; how much the first run is ahead stands at the right."""
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
