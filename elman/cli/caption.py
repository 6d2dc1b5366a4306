"""`elman caption`: a text for the vectors of each picture, or of anything else."""

from elman.cli.arguments import Json, Run
from elman.cli.attention_flags import AttentionFlags
from elman.cli.translation_flags import Mixed, Search, load_translator, write_texts


def caption(
    run: Run,
    file: str,
    /,
    *,
    search: Search | None = None,
    looking: AttentionFlags | None = None,
    mix: Mixed = (),
    json: Json = False,
) -> None:
    """Describe what vectors stand for, like features of pictures; one line for each example.

    For example:
      elman caption runs/pictures features.npy
      elman caption runs/pictures features.npz --beam 10 --n-best 3
      elman caption runs/pictures features.npy --attention maps.json --json

    Parameters
    ----------
    file
        Vectors of numpy, .npy or .npz: one vector per example, or a grid of them.
    """
    from elman.tasks.translation.vectors import read_vectors

    sources = read_vectors(file)
    write_texts(
        load_translator(run, mix),
        sources,
        search or Search(),
        looking or AttentionFlags(),
        json=json,
        what="captioning, examples",
    )
