"""The pictures of an inspection as files: PNG or SVG, one per drawing.

Takes a `SideBySide` and a folder, writes `RUN-INSIGHT-N.png`; called by `elman inspect`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from elman.atomic import replacing
from elman.errors import InputError, choose
from elman.figures.drawings import draw
from elman.insight.insight import Drawing
from elman.insight.inspection import SideBySide

FORMATS = ("png", "svg")


def write_pictures(
    seen: SideBySide,
    folder: Path,
    form: str = "png",
    progress: Callable[[str], None] = lambda what: None,
) -> list[Path]:
    """Write every drawing; the files, in order."""
    choose(dict.fromkeys(FORMATS), form, "format")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder ({error.strerror})") from None
    written = []
    for name, drawing in _named(seen):
        path = folder / f"{name}.{form}"
        progress(f"drawing {path.name}")
        with replacing(path) as temporary:
            draw(drawing).savefig(temporary, format=form, dpi=120)
        written.append(path)
    return written


def _named(seen: SideBySide) -> Iterator[tuple[str, Drawing]]:
    for number, drawing in enumerate(seen.drawings(), 1):
        yield f"side-by-side-{number}", drawing
    for one in seen.inspections:
        run = re.sub(r"\W+", "-", Path(one.name).name).strip("-") or "run"
        for name, insight in one.insights.items():
            drawings = insight.drawings()
            for number, drawing in enumerate(drawings, 1):
                yield f"{run}-{name}" + (f"-{number}" if len(drawings) > 1 else ""), drawing
