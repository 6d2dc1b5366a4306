import subprocess
import sys

import elman


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
