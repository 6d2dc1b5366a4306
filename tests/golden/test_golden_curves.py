"""Tiny trainings that must come out as they always did, bit for bit.

Each case is a short run with a fixed seed: every cell, model family, input, output, attention,
regime, optimizer, schedule and average, and one of everything else. `curves.json` beside this file
has what each of them showed, as hexadecimal floating point; a clean-up that changed nothing leaves
it as it is. The curves of new cases are added by the first of these; where a change is meant to
change figures, the second writes them all anew: look at what has become different.

    python tests/golden/test_golden_curves.py
    python tests/golden/test_golden_curves.py --all
    python tests/golden/test_golden_curves.py --cases    (names them and trains nothing)

Other processors, or another torch, round otherwise: there, the curves only have to be close.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

if __name__ == "__main__":  # run by itself, not by pytest, which knows where to look
    _ROOT = Path(__file__).parents[2]
    sys.path[:0] = [str(_ROOT), str(_ROOT / "tests" / "support")]

from fingerprints import arithmetic
from pairs import train_translator, write_parallel
from tagged import train_tagger, write_tagged

from elman.cells import CELLS
from elman.layers.attentions import ATTENTIONS
from elman.layers.inputs import INPUTS
from elman.layers.layer import CONNECTIONS
from elman.layers.outputs import OUTPUTS
from elman.layers.tag_outputs import TAG_OUTPUTS
from elman.layers.word_features import SPELLINGS
from elman.models import MODELS
from elman.tasks.task import train
from elman.training.averaging import AVERAGES
from elman.training.machine import Machine
from elman.training.optimizers import OPTIMIZERS
from elman.training.regimes import REGIMES
from elman.training.schedules import SCHEDULES

CURVES = Path(__file__).with_name("curves.json")
RECIPE = """
[text]
tokenizer = "words"

[model]
kind = "{kind}"
embedding_size = 12
{hidden_size}

[training]
epochs = 2
batch_size = 4
window = 7
learning_rate = 1.0
clip = 1.0
validate_every = 0.25
"""
GENTLE = "training.learning_rate=0.01"  # for rules that divide by the size of the gradient
UNTIED = "model.tied=false"  # some have no table of word vectors to share
FEATURES = "tagger, features"
EVERYTHING = (
    "model.num_layers=2",
    "model.tied=true",
    "model.dropout_input=0.1",
    "model.dropout_hidden=0.1",
    "model.dropout_output=0.1",
    "model.dropout_words=0.1",
    "model.weight_drop=0.1",
    "model.activation_penalty=1",
    "model.temporal_penalty=1",
    "model.layer_norm=true",
    "training.window_jitter=2",
    "training.weight_decay=1e-4",
)


def _cases() -> dict[str, tuple[str, ...]]:
    """Name to settings."""
    cases: dict[str, tuple[str, ...]] = {}
    for cell in CELLS:
        cases[f"cell {cell}"] = (f"model.cell={cell}",)
    for kind in MODELS:
        if MODELS[kind].task == "language-modelling":
            cases[f"model {kind}"] = (f"model.kind={kind}",)
    for name in INPUTS:
        cases[f"input {name}"] = (f"model.input={name}", UNTIED, *INPUT_SETTINGS.get(name, ()))
    for name in OUTPUTS:
        cases[f"output {name}"] = (f"model.output={name}", UNTIED, *OUTPUT_SETTINGS.get(name, ()))
    for name in REGIMES:
        cases[f"regime {name}"] = (f"training.regime={name}",)
    for name in OPTIMIZERS:
        rate = () if name == "sgd" else (GENTLE,)
        cases[f"optimizer {name}"] = (f"training.optimizer={name}", *rate)
    for name in SCHEDULES:
        cases[f"schedule {name}"] = (f"training.schedule={name}",)
    for name in AVERAGES:
        cases[f"average {name}"] = (f"training.average={name}", "training.trigger=1")
    for name in CONNECTIONS:
        cases[f"connection {name}"] = (f"model.connection={name}", "model.num_layers=2")
    for name in ("zoneout", "recurrent_dropout"):
        cases[name] = (f"model.{name}=0.2",)
    cases["masks per gate"] = (
        "model.masks_per_gate=true",
        "model.dropout_input=0.2",
        "model.recurrent_dropout=0.2",
    )
    cases["lines"] = ("model.context=line",)
    cases["topics"] = ("model.topics=3",)
    cases["everything"] = EVERYTHING
    for name in SPELLINGS:
        cases[f"tagger, spelling {name}"] = (f"model.characters={name}",)
    for name in TAG_OUTPUTS:
        cases[f"tagger, output {name}"] = (f"model.output={name}", "model.cell=gru")
    for name in ATTENTIONS:
        one_way = ("model.bidirectional=false",) if "dot" in name else ()  # sizes must be equal
        cases[f"translator, attention {name}"] = (f"model.attention={name}", *one_way)
    cases |= {f"translator, {name}": settings for name, settings in TRANSLATORS.items()}
    for name in REGIMES:
        cases[f"translator, regime {name}"] = (f"training.regime={name}",)
    cases["translator, beam"] = (
        "training.regime=free-running",
        "training.regime_options.beam=3",
    )
    cases["tagger, window"] = ("model.encoder=window",)
    cases[FEATURES] = ("text.features=2", "model.feature_size=3")
    cases["tagger, linear"] = ("model.linear=256", "model.validate_by=spans")
    cases["tagger, groups"] = ("training.unfreeze=0.4", "training.rate_decay=2.6")
    return cases


TRANSLATORS = {
    "context start": ("model.attention=none", "model.context=start"),
    "after": ("model.attention=bilinear", "model.attend=after"),
    "input feeding": ("model.attend=after", "model.input_feeding=true", "model.num_layers=2"),
    "coverage": ("model.coverage=true", "model.coverage_penalty=1"),
    "copying": ("model.copy=true", "text.min_count=20"),
    "smoothing": ("model.output_options={smoothing=0.1}", "model.num_layers=2"),
}
# At a rate of 1, one step makes the loss rise, and what processors round becomes another curve.
INPUT_SETTINGS = {"characters": ("training.learning_rate=0.5",)}
OUTPUT_SETTINGS = {
    "adaptive": ("model.output_options={cutoffs=[4]}",),
    "sampled": ("model.output_options={samples=5}",),
    "nce": ("model.output_options={samples=5}",),
    "blackout": ("model.output_options={samples=5}",),
}
CASES = _cases()


def sentences(lines: int, seed: int) -> str:
    drawn = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return "".join(
        f"the {nouns[a]} {verbs[a - 1]} a {nouns[b]} .\n"
        for a, b in drawn.integers(0, 3, (lines, 2))
    )


def curve(case: str, folder: Path) -> list[float]:
    """Everything that the history of a run records, and one number of its weights."""
    data = folder / "data"
    records: list[dict[str, Any]] = []
    machine = Machine(threads=1, record=records.append)
    if case.startswith("tagger"):
        settings = (*CASES[case], "training.epochs=1")
        write_tagged(data, lengths=case == FEATURES)
        trained = train_tagger(data, None, *settings, seed=1, machine=machine)
        return _numbers(records, trained)
    if case.startswith("translator"):
        settings = (*CASES[case], "training.epochs=1")
        trained = train_translator(write_parallel(data), None, *settings, seed=1, machine=machine)
        return _numbers(records, trained)
    data.mkdir(exist_ok=True)
    for seed, (split, lines) in enumerate({"train": 120, "valid": 20}.items()):
        (data / f"{split}.txt").write_text(sentences(lines, seed))
    kind = next((w.partition("=")[2] for w in CASES[case] if "model.kind=" in w), "recurrent")
    recipe = folder / "recipe.toml"
    hidden_size = "" if kind == "log-bilinear" else "hidden_size = 12"
    recipe.write_text(RECIPE.format(kind=kind, hidden_size=hidden_size))
    trained = train(str(recipe), data=str(data), overrides=CASES[case], seed=1, machine=machine)
    return _numbers(records, trained)


def _numbers(records: list[dict[str, Any]], trained: Any) -> list[float]:
    elapsed = ("tokens_per_second", "seconds")
    found = [
        float(value)
        for record in records
        for name, value in record.items()
        if name not in elapsed and isinstance(value, int | float)
    ]
    arrays = trained.model.arrays()
    return [*found, sum(float(np.abs(arrays[name]).sum()) for name in sorted(arrays))]


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(CURVES.read_text())
    return kept


@pytest.mark.parametrize("case", CASES)
def test_a_training_comes_out_as_it_always_did(
    case: str, golden: dict[str, Any], tmp_path: Path
) -> None:
    assert case in golden["curves"], "no curve yet; run: python tests/golden/test_golden_curves.py"
    expected = [float.fromhex(value) for value in golden["curves"][case]]
    found = curve(case, tmp_path)
    if golden["arithmetic"] == arithmetic():
        assert [value.hex() for value in found] == golden["curves"][case]
    else:
        np.testing.assert_allclose(found, expected, rtol=0.01)


def test_no_curve_is_left_over(golden: dict[str, Any]) -> None:
    assert golden["curves"].keys() == CASES.keys()


def test_the_runs_learn_and_differ(golden: dict[str, Any]) -> None:
    cells = [tuple(golden["curves"][f"cell {cell}"]) for cell in CELLS]
    assert len(set(cells)) == len(cells)


def test_the_documented_command_finds_what_it_imports() -> None:
    """Run as the head of this file says, from another folder and without PYTHONPATH."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, __file__, "--cases"]
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert listed.stdout.splitlines() == [*CASES], listed.stderr


def write(everything: bool) -> None:
    """Run the cases that have no curve yet, or every case, and keep what they showed."""
    torch.set_num_threads(1)
    kept: dict[str, Any] = {"arithmetic": arithmetic(), "curves": {}}
    if not everything:
        kept = json.loads(CURVES.read_text())
        if kept["arithmetic"] != arithmetic():
            sys.exit("the curves were kept on another processor or torch; write them with --all")
    curves = {case: kept["curves"][case] for case in CASES if case in kept["curves"]}
    for case in CASES.keys() - curves.keys():
        with tempfile.TemporaryDirectory() as folder:
            curves[case] = [value.hex() for value in curve(case, Path(folder))]
        print(f"wrote: {case}")
    lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(curves[case])}" for case in CASES)
    CURVES.write_text(f'{{"arithmetic": "{arithmetic()}", "curves": {{\n{lines}\n}}}}\n')


if __name__ == "__main__" and "--cases" in sys.argv[1:]:
    print(*CASES, sep="\n")
elif __name__ == "__main__":
    write(everything="--all" in sys.argv[1:])
