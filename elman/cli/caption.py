"""`elman caption`: a text for the vectors of each picture, or of anything else."""

from elman.cli.arguments import Json, Run
from elman.cli.writing import Search, find_all, load_translator, print_found, print_found_json


def caption(
    run: Run,
    file: str,
    /,
    *,
    search: Search | None = None,
    json: Json = False,
) -> None:
    """Describe what vectors stand for, like features of pictures; one line for each example.

    For example:
      elman caption runs/pictures features.npy
      elman caption runs/pictures features.npz --beam 10 --n-best 3
      elman caption runs/pictures features.npy --json

    Parameters
    ----------
    file
        Vectors of numpy, .npy or .npz: one vector per example, or a grid of them.
    """
    from elman.text.vectors import read_vectors

    search = search or Search()
    trained = load_translator(run)
    sources = read_vectors(file)
    found = find_all(trained, sources, search, "captioning, examples")
    if json:
        print_found_json(sources, found)
    else:
        print_found(found, several=search.n_best > 1)
