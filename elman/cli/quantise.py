"""`elman quantise`: save a language model with 8-bit numbers."""

from pathlib import Path

from elman.cli.arguments import Json, Overwrite, Run, RunToWrite, WholeNumber
from elman.cli.output import print_json, stages
from elman.runs.claim import refuse_existing
from elman.tasks.language_modelling.quantising import quantise as write_quantised
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load


def quantise(
    run: Run,
    /,
    *,
    out: RunToWrite,
    bits: WholeNumber = 8,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Save a language model with 8-bit numbers.

    A neural model takes a quarter of the space, and large ones generate faster. An n-gram model
    takes about a fifth: its probabilities are rounded to 256 values per order, its keys use fewer
    bytes, and its counts are dropped, so elman explain shows no counts. Use the new run like any
    other; it cannot be trained further. To measure the loss: elman compare RUN OUT --data TEXT.

    For example:
      elman quantise runs/logs --out runs/logs8

    Parameters
    ----------
    bits
        Bits per number: 8 or, for n-gram models, 32 (single precision).
    """
    refuse_existing(Path(out), overwrite)  # before the work, not after it
    with stages() as progress:
        progress("loading")
        trained = load(run, TrainedModel, verify=True)
        progress("writing")
        sizes = write_quantised(trained, out, bits=bits, overwrite=overwrite)
    if json:
        print_json({"run": out, **sizes})
        return
    before, after = sizes["bytes_before"], sizes["bytes_after"]
    print(f"weights: {before:,} → {after:,} bytes ({after / before:.0%}); saved in {out}")
