"""`elman arpa prune`: make a count model smaller."""

from elman.cli.arguments import ArpaFile, InputFile, Json, Overwrite, WholeNumber
from elman.cli.output import note, print_json, print_table, stages
from elman.tasks.language_modelling.count_models import prune_model


def prune(
    model: str,
    /,
    *,
    out: ArpaFile,
    threshold: float | None = None,
    keep: WholeNumber | None = None,
    histories: str | None = None,
    data: InputFile | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make a count model smaller: remove the n-grams that matter least.

    Entropy pruning (Stolcke 1998): an n-gram is removed if this raises the perplexity by less than
    a threshold. The back-off weights are recomputed, so probabilities still sum to one.

    For example:
      elman arpa prune model.arpa --threshold 1e-8 --histories train.txt --out small.arpa
      elman arpa prune runs/ptb --keep 100000 --histories FOLDER --data FOLDER --out small.arpa

    Parameters
    ----------
    model
        An ARPA file or a run of an n-gram model.
    threshold
        Remove n-grams whose removal raises the perplexity by less than this fraction, such as 1e-8.
    keep
        Keep at most this many n-grams of order 2 and above, instead of a threshold.
    histories
        The training text, or an ARPA file or run that is not Kneser–Ney, to estimate how frequent
        each history is. Default: the model itself.
    data
        A text to measure the perplexity on, before and after; for a folder, its test split.
    """
    with stages() as progress:
        pruned = prune_model(
            model,
            out,
            threshold=threshold,
            keep=keep,
            histories=histories,
            data=data,
            overwrite=overwrite,
            progress=progress,
        )
    for message in pruned.notes:
        note(message)
    if json:
        print_json(pruned.to_data())
        return
    table = pruned.as_table()
    print_table(table.header, table.rows)
    limit = "" if pruned.threshold is None else f", threshold {pruned.threshold:.3g}"
    print(f"wrote {out}{limit}")
