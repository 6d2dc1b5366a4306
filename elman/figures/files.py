"""Image files: check their names, and write them atomically.

Takes a path and a matplotlib figure, writes PNG or SVG. Called for attention maps and for scores by
length.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.errors import InputError

PICTURES = (".png", ".svg")


def check_file(
    path: str, what: str, endings: Sequence[str] = PICTURES, *, overwrite: bool = True
) -> Path:
    """Check, before the work, that a file can be written, and return its path.

    endings: the allowed extensions; none: any. Without `overwrite`, the file must not exist.
    """
    place = Path(path)
    if endings and place.suffix.lower() not in endings:
        raise InputError(f"{path}: the file name of {what} must end in {' or '.join(endings)}")
    if place.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not place.parent.is_dir():
        raise InputError(f"{path}: the folder {place.parent} does not exist; create it first")
    if place.exists() and not overwrite:
        raise InputError(f"{path}: exists already; choose another name or add --overwrite")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written; choose another file")
    return place


def make_folder(path: str | Path) -> Path:
    """Create a folder if needed, and return its path."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: cannot create this folder ({error.strerror}); choose another"
        ) from None
    return Path(path)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Give a path to write to; the file replaces `path` once it is complete."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def empty_figure(width: float, height: float) -> Any:
    """A figure without axes, in inches."""
    from matplotlib.figure import Figure  # takes half a second

    return Figure(figsize=(width, height), layout="constrained")


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes, an array of them if there are several columns."""
    figure = empty_figure(width, height)
    axes = figure.subplots(1, columns)
    for one in figure.axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_figure(figure: Any, path: Path) -> None:
    """Save a figure in the format of the file name; the same figure gives the same file."""
    import matplotlib

    kind = path.suffix.lower()[1:]
    metadata = {"Date": None} if kind == "svg" else None
    # In SVG, words stay text that can be searched.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": path.stem}
    with writing(path) as temporary, warnings.catch_warnings(), matplotlib.rc_context(settings):
        # Scripts that are missing in the fonts of this machine show as boxes.
        warnings.filterwarnings("ignore", message=".*Glyph.*missing.*")
        figure.savefig(temporary, format=kind, dpi=120, metadata=metadata)
