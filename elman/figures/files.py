"""Pictures on the disk: which names they may have, and how they get there.

Takes a path and a matplotlib figure, writes PNG or SVG, whole or not at all. Called by what draws
attention maps and scores by length.
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
    """The path of a file to write; refused, before the work, if it can be seen to go wrong.

    endings: what its name may end in; none: anything. Without `overwrite` it must not be there.
    """
    place = Path(path)
    if endings and place.suffix.lower() not in endings:
        raise InputError(f"{path}: {what} is a file that ends in {' or '.join(endings)}")
    if place.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not place.parent.is_dir():
        raise InputError(f"{path}: there is no folder {place.parent}; make it first")
    if place.exists() and not overwrite:
        raise InputError(f"{path}: exists already; choose another name or add --overwrite")
    if not os.access(place if place.exists() else place.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written; choose another file")
    return place


def make_folder(path: str | Path) -> Path:
    """A folder to write into, made if it is not there."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be made a folder ({error.strerror}); choose another"
        ) from None
    return Path(path)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Where to write what takes the place of `path` once it is complete."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes, an array of them if there are several columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns)
    for one in figure.axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_figure(figure: Any, path: Path) -> None:
    """A figure as the picture that the name says; the same figure gives the same file."""
    import matplotlib

    kind = path.suffix.lower()[1:]
    metadata = {"Date": None} if kind == "svg" else None
    # In SVG, words stay text that can be searched.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": path.stem}
    with writing(path) as temporary, warnings.catch_warnings(), matplotlib.rc_context(settings):
        # A script that the fonts of this machine lack shows as boxes.
        warnings.filterwarnings("ignore", message=".*Glyph.*missing.*")
        figure.savefig(temporary, format=kind, dpi=120, metadata=metadata)
