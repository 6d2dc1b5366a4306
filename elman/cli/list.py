"""`elman list`: everything there is to choose from, read from the rooms' own dicts."""

from elman.cli.output import print_json, print_table
from elman.errors import choose


def list(kind: str | None = None, /, *, json: bool = False) -> None:
    """Everything there is to choose from.

    Examples:
      elman list
      elman list smoothers

    Parameters
    ----------
    kind
        adapters, cells, corpora, decoding, models, recipes, smoothers or tokenizers; none: all.
    json
        Print the result as JSON.
    """
    families = _families()
    if kind == "cells":
        chosen = {"cells": _cells()}
    else:
        chosen = families if kind is None else {kind: choose(families, kind, "kind")}
    if json:
        print_json(chosen)
        return
    for number, (family, members) in enumerate(chosen.items()):
        if number:
            print()
        print_table([family, "what it is"], [*members.items()])
    if kind is None:
        print("\nrecurrent cells: elman list cells")


def _cells() -> dict[str, str]:
    from elman.cells import CELLS  # with torch, which takes longer than everything else here

    return {name: cell.about for name, cell in CELLS.items()}


def _families() -> dict[str, dict[str, str]]:
    from elman.adapters import ADAPTERS
    from elman.counts.smoothing import SMOOTHERS
    from elman.decoding import STRATEGIES
    from elman.models import MODELS, model_class
    from elman.tasks.recipes import recipe_names
    from elman.text import TOKENIZERS
    from elman.text.corpora import CORPORA

    return {
        "adapters": {name: adapter.about for name, adapter in ADAPTERS.items()},
        "corpora": {name: corpus.about for name, corpus in CORPORA.items()},
        "decoding": STRATEGIES,
        "models": {name: model_class(name).about for name in MODELS},
        "recipes": recipe_names(),
        "smoothers": {name: smoother.about for name, smoother in SMOOTHERS.items()},
        "tokenizers": {name: tokenizer.about for name, tokenizer in TOKENIZERS.items()},
    }
