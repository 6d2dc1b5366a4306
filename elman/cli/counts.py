"""`elman counts`: count the n-grams of a text, to train on later or together with others."""

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import (
    Columns,
    Data,
    Json,
    Memory,
    Overwrite,
    Settings,
    SplitBy,
    Strict,
    resources,
    with_data_flags,
)
from elman.cli.output import note, print_json, stages
from elman.recipes import load_recipe
from elman.tasks.language_modelling.counting import count_text
from elman.tasks.task import Order
from elman.training.machine import Machine
from elman.wording import several


def counts(
    data: Data,
    /,
    *,
    out: Annotated[str, Parameter(help="The folder of counts to write.")],
    like: str | None = None,
    set: Settings = (),
    columns: Columns = None,
    split_by: SplitBy = None,
    strict: Strict = False,
    memory: Memory = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Count the n-grams of a text and write them as Parquet files of ids and counts.

    Counts of several texts add up: count each on its own machine, with the same vocabulary, and
    train on all of them with elman train ngram --counts. The settings are those of the recipe
    ngram. The same counts also train models of lower order.

    For example:
      elman counts texts/2024 --out counts/2024 --memory 2G
      elman counts texts/2025 --out counts/2025 --like counts/2024
      elman train ngram --counts counts/2024 --counts counts/2025 --out runs/both

    Parameters
    ----------
    like
        Use the vocabulary of this folder of counts or of this run. Default: learn it from the data.
    """
    config = load_recipe("ngram", with_data_flags("ngram", set, columns, split_by, strict))
    with stages() as progress:
        machine = Machine(counting=resources(None, memory, None), note=note)
        order = Order(machine, progress, overwrite=overwrite)
        counted = count_text(data, Path(out), config, order, like=like)
    found = {"counts": out, "order": counted.order, "shards": len(counted.files)}
    if json:
        print_json({**found, "vocabulary": len(counted.tokenizer), "data": counted.data})
        return
    unknown, shards = counted.data["unknown_tokens"], len(counted.files)
    print(
        f"counted {counted.tokens:,} tokens{f' ({unknown:,} unknown)' if unknown else ''}, "
        f"vocabulary {len(counted.tokenizer):,}, order {counted.order}, in "
        f"{several(shards, 'shard')}: {out}"
    )
    print(f"next: elman train ngram --counts {shlex.quote(out)} --out RUN")
