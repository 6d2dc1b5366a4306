"""`elman export`: write a trained model in a format that other programs read."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Json, Overwrite, Run
from elman.cli.output import note, print_json, stages
from elman.formats import EXPORTS
from elman.tasks.task import load

_FORMATS = "; ".join(f"{name}: {format_.about}" for name, format_ in EXPORTS.items())
_TO = Parameter(help=f"The format. {_FORMATS}. Default: arpa or vectors, depending on the run.")


def export(
    run: Run,
    path: str,
    /,
    *,
    to: Annotated[str, _TO] = "",
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a trained model in a format that other programs read.

    Without --to, an n-gram model becomes an ARPA file, and word2vec a file of word vectors.

    For example:
      elman export runs/ptb ptb.arpa
      elman export runs/vectors --to vectors vectors.vec

    Parameters
    ----------
    path
        The file or folder to write.
    """
    with stages() as progress:
        progress("loading")
        trained = load(run, verify=True)
        progress("writing")
        written = trained.export(path, to, overwrite=overwrite)
    for message in written.notes:
        note(message)
    size = _size(Path(path))
    if json:
        print_json({"file": path, "bytes": size, **written.data})
        return
    print(f"wrote {path}: {written.about}, {size:,} bytes")


def _size(path: Path) -> int:
    """The bytes of a file, or of all files of a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
