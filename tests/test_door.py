"""The public door: what `import elman` gives, and what type checkers make of it."""

import subprocess
import sys
from pathlib import Path

import pytest

import elman
from elman.tasks.tagging.task import TrainedTagger

ROOT = Path(__file__).parents[1]


PUBLIC = [
    "Classifier",
    "ElmanError",
    "InputError",
    "LanguageModel",
    "Tagger",
    "Trained",
    "TrainedModel",
    "Translator",
    "__version__",
    "compare",
    "load",
    "plan",
    "reproduce",
    "train",
]
OF_0_1 = [
    "Classifier",
    "ElmanError",
    "InputError",
    "Tagger",
    "TrainedModel",
    "__version__",
    "compare",
    "load",
    "train",
]


def test_these_names_are_public_and_no_others() -> None:
    assert elman.__all__ == PUBLIC == dir(elman)
    assert sorted(PUBLIC) == PUBLIC
    for name in PUBLIC:
        item = getattr(elman, name)
        assert name == "__version__" or item.__doc__, f"{name} has no docstring"


def test_names_of_0_1_still_work() -> None:
    assert [name for name in OF_0_1 if not hasattr(elman, name)] == []


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
import numpy as np

import elman
from elman import LanguageModel, Trained, TrainedModel, Translator

any_run: Trained = elman.load("run")
measures = any_run.evaluate("grammar").to_data()
model: TrainedModel = elman.load("run", TrainedModel)
perplexity: float = model.perplexity("boys walk .")
trained: TrainedModel = elman.train("ngram", data="grammar", seed=1, kind=TrainedModel)
seconds: float = elman.plan("small", data="grammar").seconds
row = elman.reproduce("ptb", "kn5")
measured: float | None = row.result.measured if row.result else row.row.published
verdict: str = str(row.verdict)

texts: LanguageModel = LanguageModel("ngram", model__order=3).fit(["boys walk ."])
score: float = texts.score(["boys walk ."]) + texts.perplexity("boys walk .")
words: list[str] = [one.token for one in texts.suggest("boys", top=3)]
from_file: LanguageModel = LanguageModel.load("run").fit("grammar")
translator: Translator = Translator().fit(["a dog"], ["ein Hund"])
outputs: np.ndarray = translator.predict(["a dog"])
bleu: float = translator.score(["a dog"], ["ein Hund"])
tags: np.ndarray = elman.Tagger.load("run").predict([["boys", "walk"]])
labels: np.ndarray = elman.Classifier().fit(["good"], ["yes"]).predict(["good"])
"""
# Each wrong line, with a part of the message that it gets.
WRONG = {
    'any_run.perplexity("boys walk .")': '"Trained" has no attribute "perplexity"',
    'elman.train("ngram", data="grammar", seeds=1)': '"seeds"',
    "texts.fit([1, 2])": "expected",
    "texts.fit(['boys'], ['label'])": 'Argument 2 to "fit" of "LanguageModel"',
    "number: int = texts.suggest('boys')": "list[Suggestion]",
    "translator.predict([1])": "List item 0 has incompatible type",
    'elman.reproduce("ptb", 5)': 'Argument 2 to "reproduce"',
    'elman.plan("small")': 'Missing named argument "data"',
    "elman.trained": "Module has no attribute",
}


@pytest.mark.slow
def test_type_checkers_can_use_the_door(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(USED)
    (tmp_path / "wrong.py").write_text(USED + "\n".join(WRONG) + "\n")
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
    first = len(USED.splitlines()) + 1
    for number, (line, message) in enumerate(WRONG.items(), first):
        about = [said for said in found["wrong"].splitlines() if f"wrong.py:{number}: " in said]
        assert any(message in said for said in about), (line, about, found["wrong"])


def test_another_kind_is_refused(tmp_path: Path) -> None:
    elman.train("ngram", data="grammar", out=tmp_path / "run")
    with pytest.raises(
        elman.InputError, match="is an ngram, not a tagger; use it with elman suggest"
    ):
        elman.load(tmp_path / "run", TrainedTagger)
    with pytest.raises(elman.InputError, match="recipe ngram: is an ngram, not a tagger"):
        elman.train("ngram", data="grammar", kind=TrainedTagger)
