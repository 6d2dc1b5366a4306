"""The public door: what `import elman` gives, and what type checkers make of it."""

import subprocess
import sys
from pathlib import Path

import pytest

import elman
from elman.tasks.tagging.task import TrainedTagger

ROOT = Path(__file__).parents[1]


def test_public_names_are_sorted_and_there() -> None:
    assert sorted(elman.__all__) == elman.__all__
    assert all(hasattr(elman, name) for name in elman.__all__)


def test_importing_elman_imports_neither_torch_nor_numpy() -> None:
    code = "import sys, elman; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_door_from_the_docstring(tmp_path) -> None:
    model = elman.train("ngram", data="grammar", out=tmp_path / "run")
    text = "boys who Mary chases walk .\n"
    assert elman.load(tmp_path / "run").perplexity(text) == model.perplexity(text)
    assert len(model.surprisal(text)) == 7
    assert model.suggest("boys who", top=3)[0].probability > 0
    assert model.generate("boys who", max_tokens=5)[0].text.startswith("boys who")


USED = """
import elman
from elman import Trained, TrainedModel

any_run: Trained = elman.load("run")
measures = any_run.evaluate("grammar").to_data()
model: TrainedModel = elman.load("run", TrainedModel)
perplexity: float = model.perplexity("boys walk .")
trained: TrainedModel = elman.train("ngram", data="grammar", seed=1, kind=TrainedModel)
"""
WRONG = """
any_run.perplexity("boys walk .")
elman.train("ngram", data="grammar", seeds=1)
"""


@pytest.mark.slow
def test_type_checkers_can_use_the_door(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(USED)
    (tmp_path / "wrong.py").write_text(USED + WRONG)
    found = {}
    for name in ("right", "wrong"):
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache"]
        done = subprocess.run(
            [*command, "--config-file", ROOT / "pyproject.toml", tmp_path / f"{name}.py"],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        found[name] = done.stdout
    assert "Success" in found["right"], found["right"]
    assert '"Trained" has no attribute "perplexity"' in found["wrong"]
    assert "seeds" in found["wrong"]


def test_another_kind_is_refused(tmp_path: Path) -> None:
    elman.train("ngram", data="grammar", out=tmp_path / "run")
    with pytest.raises(
        elman.InputError, match="is an ngram, not a tagger; use it with elman suggest"
    ):
        elman.load(tmp_path / "run", TrainedTagger)
    with pytest.raises(elman.InputError, match="recipe ngram: is an ngram, not a tagger"):
        elman.train("ngram", data="grammar", kind=TrainedTagger)
