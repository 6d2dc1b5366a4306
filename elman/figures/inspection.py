"""An inspection as images, and as one HTML page that needs no server and no network.

Takes a `SideBySide`; writes `RUN-INSIGHT-N.png` (or SVG), one per drawing, or returns the page as a
string, with a section per insight. The page renders the drawings itself. Called by `elman inspect`.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.errors import choose
from elman.figures.drawings import draw
from elman.figures.files import make_folder
from elman.figures.page import Page
from elman.insight.insight import Drawing
from elman.insight.inspection import Inspection, SideBySide

FORMATS = ("png", "svg")
TITLES = {
    "surprisal": "Surprisal and entropy",
    "influence": "Which words a prediction depended on: gradient × input",
    "leave-one-out": "Which words a prediction depended on: leaving them out",
    "gradient-flow": "Gradient flow",
    "jacobians": "Jacobians",
    "units": "Gates, cells and hidden units",
    "saturation": "Saturation",
    "followers": "Units that follow brackets, quotes, line or sentence",
    "attention": "Attention",
    "nearest-words": "Nearest words",
    "nearest-contexts": "Nearest contexts",
    "training": "Gradients during the training",
}
_SMALL = ("units", "nearest-words")  # many small drawings, side by side
_LINES = 12  # lines of the text at the top of the page
_OPENED = ("surprisal", "influence", "gradient-flow", "jacobians")


def write_pictures(
    seen: SideBySide,
    folder: Path,
    form: str = "png",
    progress: Callable[[str], None] = lambda what: None,
) -> list[Path]:
    """Write every drawing; return the files, in order."""
    choose(dict.fromkeys(FORMATS), form, "format")
    make_folder(folder)
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


# The page -----------------------------------------------------------------------------------------


def inspection_page(seen: SideBySide, title: str = "") -> str:
    """The page that shows an inspection."""
    names = ", ".join(one.name for one in seen.inspections)
    page = Page(title or f"Inside {names}")
    if len({one.text for one in seen.inspections}) == 1:
        for line in seen.inspections[0].text.splitlines()[:_LINES]:
            page.paragraph(line)
    _show_drawings(page, seen)
    for one in seen.inspections:
        _show(page, one, alone=len(seen.inspections) == 1)
    return page.html()


def _show_drawings(page: Page, seen: SideBySide) -> None:
    drawings = seen.drawings()
    if not drawings:
        return
    if seen.remembering:
        page.heading("What they remember")
        page.paragraph(
            "The probability that each network gives to the last word of unseen stories. The word "
            "occurred so many tokens before; a network that has forgotten it can only guess. "
            "Training stops when the word is known at every distance."
        )
        page.drawing(drawings[0].kind, drawings[0].arguments)
        drawings = drawings[1:]
    if not drawings:
        return
    page.heading("Side by side")
    page.paragraph(
        "How much of the gradient is left on its way back, as a share of the gradient at the "
        "word itself. Where a curve has fallen to zero, training learns nothing from that far "
        "back."
    )
    for drawing in drawings:
        page.drawing(drawing.kind, drawing.arguments, wide=drawing.kind == "curves")


def _show(page: Page, one: Inspection, *, alone: bool) -> None:
    page.heading(one.name)
    page.note(_description(one.model))
    if one.left_out:
        page.note(f"The first {one.tokens:,} tokens; {one.left_out:,} more are not shown.")
    for name, insight in one.insights.items():
        page.begin_section(TITLES.get(name, name), opened=alone and name in _OPENED)
        page.note(f"{insight.about[0].upper()}{insight.about[1:]}.")
        for sentence in insight.summary():
            page.paragraph(sentence)
        for drawing in insight.drawings():
            wide = name not in _SMALL or drawing.kind == "curves"
            page.drawing(drawing.kind, drawing.arguments, wide=wide)
        page.end_section()
    for name, reason in one.unseen.items():
        page.note(f"{TITLES.get(name, name)}: {reason}.")


def _description(model: dict[str, Any]) -> str:
    """A one-line description of the model."""
    shown = {key: value for key, value in model.items() if key != "eos_id"}
    return " · ".join(f"{key.replace('_', ' ')} {_word(value)}" for key, value in shown.items())


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value)
