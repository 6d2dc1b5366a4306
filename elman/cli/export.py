"""`elman export`: write a count model as an ARPA file."""

from pathlib import Path

from elman.cli.output import stages
from elman.errors import InputError


def export(run: str, file: str, /, *, overwrite: bool = False) -> None:
    """Write a count model as an ARPA file, which KenLM, SRILM and others read.

    Examples:
      elman export runs/ptb ptb.arpa

    Parameters
    ----------
    run
        A run folder of an n-gram model.
    file
        The ARPA file to write.
    overwrite
        Replace a file that is there already.
    """
    from elman.counts.arpa_writer import write_arpa
    from elman.models.ngram import NGram
    from elman.tasks.language_model import load

    if Path(file).exists() and not overwrite:
        raise InputError(f"{file}: exists already; choose another name or add --overwrite")
    trained = load(run)
    if not isinstance(trained.model, NGram):
        raise InputError(f"{run}: is not a count model; only those can be written as ARPA")
    with stages() as progress:
        progress("writing")
        write_arpa(Path(file), trained.model.tables, trained.tokenizer.tokens)
    print(f"wrote {file}: order {trained.model.tables.order}, {Path(file).stat().st_size:,} bytes")
