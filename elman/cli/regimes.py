"""`elman study regimes`: compare training regimes and their exposure bias."""

import math
from json import dumps
from pathlib import Path
from typing import Any

from elman.cli.arguments import Json, Settings, WholeNumber
from elman.cli.output import print_json, print_table, stages
from elman.errors import InputError
from elman.experiments.regimes import RegimeResult, limit
from elman.experiments.regimes import regimes as train_regimes
from elman.figures.files import make_folder
from elman.figures.studies import draw_regimes
from elman.json_safe import json_safe


def regimes(
    *names: str,
    seeds: WholeNumber = 3,
    sentences: WholeNumber = 1000,
    epochs: float = 15.0,
    set: Settings = (),
    out: str = "",
    json: Json = False,
) -> None:
    """Compare training regimes: how much worse is a model on its own words?

    Every regime trains the recipe small on the built-in corpus grammar, whose true probabilities
    are known.

    For example:
      elman study regimes --out regimes
      elman study regimes teacher-forcing scheduled-sampling:final=0.8 --seeds 5

    Parameters
    ----------
    names
        Regimes to compare, with options if you like. Default: all of elman list regimes, with
        options that matter in such a short training.
    seeds
        The number of models per regime. Each has its own training text and initial weights.
    sentences
        The number of sentences in the training text.
    epochs
        The number of passes over the training text.
    out
        Write the picture regimes.png and the figures regimes.json to this folder.
    """
    if seeds < 1:
        raise InputError(f"--seeds {seeds}: must be at least 1")
    folder = make_folder(out) if out else None
    options = {"sentences": sentences, "epochs": epochs, "overrides": set}
    results, found = _train(names, range(1, seeds + 1), options)
    if folder is not None:
        _write(folder, results, found)
    if json:
        print_json(found)
        return
    _print(results, found["limit"])
    if folder is not None:
        print(f"\nPicture and figures: {folder / 'regimes.png'}, {folder / 'regimes.json'}")


def _train(
    names: tuple[str, ...], seeds: range, options: dict[str, Any]
) -> tuple[list[RegimeResult], dict[str, Any]]:
    """The results, and the same as plain data with the limit that no model can beat."""
    with stages() as progress:
        results = train_regimes(names, seeds=seeds, **options, progress=progress)
    return results, {"limit": limit(), "regimes": json_safe(results)}


def _write(folder: Path, results: list[RegimeResult], found: dict[str, Any]) -> None:
    draw_regimes(results, folder / "regimes.png")
    written = dumps(found, indent=1, ensure_ascii=False)
    (folder / "regimes.json").write_text(written + "\n", encoding="utf-8")


def _print(results: list[RegimeResult], limit: float) -> None:
    rows = []
    for result in results:
        rows.append(
            [
                " ".join([result.regime, *result.options]),
                f"{result.mean(lambda run: run.perplexity):.3f}",
                f"{result.mean(lambda run: run.drift.drift):.3f}",
                _error(result.error(lambda run: run.drift.drift)),
                f"{result.mean(lambda run: run.exposure.kl_true):.4f}",
                f"{result.mean(lambda run: run.exposure.kl_own):.4f}",
                f"{result.mean(lambda run: run.exposure.bias):+.4f}",
                _error(result.error(lambda run: run.exposure.bias)),
                f"{result.mean(lambda run: run.exposure.violations):.2f}",
                f"{result.mean(lambda run: run.seconds):.0f}",
            ]
        )
    header = ["regime", "perplexity", "drift", "±", "KL true", "KL own", "bias", "±"]
    print_table([*header, "violations", "seconds"], rows)
    seeds = len(results[0].runs)
    print(
        f"\nNo model can have a lower perplexity than {limit:.3f}. Drift: how much the loss rises, "
        "in nats per word,\nwhen half of the words that the model reads are its own samples. KL: "
        "divergence from the true\ndistribution in nats per word, after words of a text and after "
        "own samples; bias is the difference.\nViolations: impossible words per 100 sampled words. "
        f"Means over {seeds} seed{'s' if seeds > 1 else ''}; ± is one standard error."
    )


def _error(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"
