"""`elman export`: write a count model as an ARPA file."""

from pathlib import Path

from elman.cli.arguments import CountRun, Json, Overwrite
from elman.cli.output import note, print_json, stages
from elman.tasks.language_modelling.counting import export_arpa
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load


def export(
    run: CountRun, file: str, /, *, overwrite: Overwrite = False, json: Json = False
) -> None:
    """Write a count model as an ARPA file, for KenLM, SRILM and others.

    For example:
      elman export runs/ptb ptb.arpa

    Parameters
    ----------
    file
        The ARPA file to write.
    """
    with stages() as progress:
        progress("loading")
        trained = load(run, TrainedModel)
        progress("writing")
        export_arpa(trained, file, overwrite=overwrite)
    ngrams = trained.facts["model"]["ngrams"]
    if not 2 <= len(ngrams) <= 6:
        note("KenLM in its usual build reads only orders from 2 to 6")
    size = Path(file).stat().st_size
    if json:
        print_json({"file": file, "bytes": size, "ngrams": ngrams})
        return
    print(f"wrote {file}: order {len(ngrams)}, {sum(ngrams):,} n-grams, {size:,} bytes")
