"""`elman import`: make a run of an ARPA file."""

from elman.cli.output import stages


def import_(file: str, /, *, out: str, overwrite: bool = False) -> None:
    """Make a run of an ARPA file that KenLM, SRILM or another toolkit wrote.

    Examples:
      elman import model.arpa --out runs/imported

    Parameters
    ----------
    file
        The ARPA file, plain or .gz.
    out
        The run folder to write.
    overwrite
        Replace a run that is there already.
    """
    from elman.tasks.imports import import_arpa

    with stages() as progress:
        progress("reading")
        trained = import_arpa(file)
        progress("saving")
        trained.save(out, overwrite=overwrite)
    counts = ", ".join(f"{count:,}" for count in trained.facts["model"]["ngrams"])
    print(f"read {file}: n-grams by order {counts}; saved in {out}")
