"""The benchmark of ablations: variants one after the other, a line each, and their table."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from elman.recipes import load_recipe

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "race_ablation.py"
SMALL = ["model.hidden_size=6", "model.embedding_size=6", "training.batch_size=4"]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_every_variant_can_be_made(script: dict[str, Any]) -> None:
    made = [str(load_recipe("quick", words).to_data()) for words in script["VARIANTS"].values()]
    assert len(set(made)) == len(made)


def test_variants_run_and_go_on(script: dict[str, Any], place: Path, tmp_path: Path) -> None:
    main, only = script["main"], ["quick", "n-gram residual"]
    given = [str(place / "data"), "--out", str(tmp_path), "--budget", "0.0002teraflop"]
    for setting in SMALL:
        given += ["--set", setting]
    assert main([*given, "--only", "quick"]) == 0
    assert main([*given, "--only", *only]) == 0  # the first one is only read
    lines = [json.loads(line) for line in (tmp_path / "ablation.jsonl").read_text().splitlines()]
    assert [line["variant"] for line in lines] == only
    assert all(line["test"] is None for line in lines)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ablations -->\nold\n<!-- end of ablations -->\nafter\n")
    assert main(["--table", str(tmp_path), "--write", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    for line in lines:
        assert f"| {line['validation']:.2f} |" in text
    page.write_text("no marks")
    assert main(["--table", str(tmp_path), "--write", str(page)]) == 2


def test_a_variant_that_fails_is_left_out(
    script: dict[str, Any], place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(place / "data"), "--out", str(tmp_path), "--budget", "0.0002teraflop"]
    assert script["main"]([*given, "--set", "training.epochs=900", "--only", "quick"]) == 1
    assert "failed: this training needs" in capsys.readouterr().err
