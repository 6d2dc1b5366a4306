"""`elman arpa merge`: interpolate several count models into one ARPA file."""

from elman.cli.arguments import ArpaFile, InputFile, Json, Overwrite
from elman.cli.output import note, print_json, print_table, stages
from elman.errors import InputError
from elman.tasks.language_modelling.count_models import merge_models


def merge(
    *models: str,
    out: ArpaFile,
    weights: str | None = None,
    data: InputFile | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Interpolate several count models into one ARPA file.

    Each n-gram that occurs in any model gets the weighted average of the models' probabilities; the
    back-off weights are recomputed (static interpolation). The vocabularies may differ.

    For example:
      elman arpa merge news.arpa mails.arpa --data my-mails.txt --out both.arpa
      elman arpa merge runs/news runs/mails --weights 0.7,0.3 --out both.arpa

    Parameters
    ----------
    models
        ARPA files or runs of n-gram models, two or more.
    weights
        The weight of each model, separated by commas.
    data
        A text to fit the weights on and to measure the result; for a folder, its valid split.
    """
    with stages() as progress:
        given = None if weights is None else _numbers(weights)
        merged = merge_models(
            models, out, weights=given, data=data, overwrite=overwrite, progress=progress
        )
    for message in merged.notes:
        note(message)
    if json:
        print_json(merged.to_data())
        return
    table = merged.as_table()
    print_table(table.header, table.rows)
    counts = " + ".join(f"{count:,}" for count in merged.ngrams)
    print(f"wrote {out}: {counts} n-grams")


def _numbers(written: str) -> list[float]:
    try:
        return [float(number) for number in written.split(",")]
    except ValueError:
        raise InputError(
            f"--weights {written}: give numbers separated by commas, as 0.7,0.3"
        ) from None
