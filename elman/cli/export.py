"""`elman export`: write a count model as an ARPA file, or word vectors as text."""

from pathlib import Path

from elman.cli.arguments import ExportedRun, Json, Overwrite
from elman.cli.output import note, print_json, stages
from elman.tasks.task import load


def export(
    run: ExportedRun, file: str, /, *, overwrite: Overwrite = False, json: Json = False
) -> None:
    """Write a count model as an ARPA file, or word vectors as text.

    KenLM, SRILM and others read ARPA files; gensim, spaCy and others read the text format of
    word2vec.

    For example:
      elman export runs/ptb ptb.arpa
      elman export runs/vectors vectors.vec

    Parameters
    ----------
    file
        The file to write.
    """
    with stages() as progress:
        progress("loading")
        trained = load(run, verify=True)
        progress("writing")
        written = trained.export(file, overwrite=overwrite)
    for message in written.notes:
        note(message)
    size = Path(file).stat().st_size
    if json:
        print_json({"file": file, "bytes": size, **written.data})
        return
    print(f"wrote {file}: {written.about}, {size:,} bytes")
