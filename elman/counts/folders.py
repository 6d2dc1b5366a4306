"""The files of a folder of counts, apart from the counts themselves.

    manifest.json      size and SHA-256 of every file (`runs/manifest.py`)
    counts.json        order, context, settings of the text, facts about it
    tokenizer.json     the words of the ids
    *.parquet          n-grams and their counts (`shards.py`)

Called by `tasks/language_modelling/count_files.py`, for folders on a disk, and by `spark.py`.
"""

from typing import Any

COUNTS, TOKENIZER = "counts.json", "tokenizer.json"


def descriptions(
    tokenizer: dict[str, Any],
    *,
    order: int,
    context: str,
    text: dict[str, Any],
    data: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """The contents of the JSON files, by name; `text` holds settings, `data` facts."""
    described = {"order": order, "context": context, "text": text, "data": data}
    return {COUNTS: described, TOKENIZER: tokenizer}
