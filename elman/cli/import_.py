"""`elman import`: import an ARPA file or published ELMo weights as a run folder."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import Json, Overwrite, RunToWrite
from elman.cli.output import note, print_json, stages
from elman.errors import InputError
from elman.runs.claim import refuse_existing
from elman.tasks.language_modelling.counting import import_arpa


def import_(*files: str, out: RunToWrite, overwrite: Overwrite = False, json: Json = False) -> None:
    """Import an ARPA file or published ELMo weights as a run folder.

    ARPA files come from KenLM, SRILM or another toolkit, plain or compressed (.gz). ELMo is
    published as two files, options and weights; reading them requires h5py.

    For example:
      elman import model.arpa --out runs/imported
      elman import elmo options.json weights.hdf5 --out runs/elmo

    Parameters
    ----------
    files
        One ARPA file; or the word elmo, the options file and the weights file.
    """
    refuse_existing(Path(out), overwrite)  # before the work, not after it
    with stages() as progress:
        progress("reading")
        trained = _read(files)
        progress("saving")
        trained.save(out, overwrite=overwrite)
    for message in trained.facts["model"]["notes"]:
        note(message)
    if json:
        print_json({"run": out, **trained.facts})
        return
    print(f"read {files[-1]}: {_said(trained.facts['model'])}; saved in {out}")


def _read(files: tuple[str, ...]) -> Any:
    if files[:1] == ("elmo",) and not Path("elmo").is_file():
        if len(files) != 3:
            raise InputError("import elmo needs two files: elman import elmo OPTIONS WEIGHTS")
        from elman.tasks.embedding.published import import_elmo

        return import_elmo(*files[1:])
    if len(files) != 1:
        raise InputError("give one ARPA file; for ELMo: elman import elmo OPTIONS WEIGHTS")

    return import_arpa(files[0])


def _said(facts: dict[str, Any]) -> str:
    if "ngrams" in facts:
        return "n-grams by order " + ", ".join(f"{count:,}" for count in facts["ngrams"])
    return f"{facts['parameters']:,} parameters"
