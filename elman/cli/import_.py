"""`elman import`: make a run of an ARPA file."""

from pathlib import Path

from elman.cli.arguments import Json, Overwrite, RunToWrite
from elman.cli.output import note, print_json, stages


def import_(
    file: str, /, *, out: RunToWrite, overwrite: Overwrite = False, json: Json = False
) -> None:
    """Make a run of an ARPA file that KenLM, SRILM or another toolkit wrote.

    For example:
      elman import model.arpa --out runs/imported

    Parameters
    ----------
    file
        The ARPA file, plain or .gz.
    """
    from elman.runs.folder import refuse_existing
    from elman.tasks.imports import import_arpa

    refuse_existing(Path(out), overwrite)  # before the work, not after it
    with stages() as progress:
        progress("reading")
        trained = import_arpa(file)
        progress("saving")
        trained.save(out, overwrite=overwrite)
    for message in trained.facts["model"]["notes"]:
        note(message)
    if json:
        print_json({"run": out, **trained.facts})
        return
    counts = ", ".join(f"{count:,}" for count in trained.facts["model"]["ngrams"])
    print(f"read {file}: n-grams by order {counts}; saved in {out}")
