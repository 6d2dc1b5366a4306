"""Wheel and sdist: their content, and that the wheel works outside the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_version_stands_in_one_place() -> None:
    written = (ROOT / "elman" / "version.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'__version__ = "(.+)"', written)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in settings
    assert 'path = "elman/version.py"' in settings
    code = [p for p in (ROOT / "elman").rglob("*.py") if p.name != "version.py"]
    assert not [path for path in code if f'"{version}"' in path.read_text(encoding="utf-8")]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist, by their endings."""
    for tool in ("build", "hatchling"):
        pytest.importorskip(tool, reason=f"needs {tool}: pip install -e '.[dev]'")
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return {path.suffix: path for path in out.iterdir()}


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(built[".whl"]).namelist())
    tracked = run("git", "ls-files", "elman", cwd=ROOT).split()
    assert set(tracked) - names == set()
    assert "elman/py.typed" in names
    assert {name for name in names if name.endswith(".toml")} == {
        str(path.relative_to(ROOT)) for path in (ROOT / "elman").rglob("*.toml")
    }
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"elman"}
    assert not [name for name in names if name.endswith((".pyc", ".safetensors"))]


@pytest.mark.slow
def test_the_sdist_holds_what_is_needed_to_build_and_test(built: dict[str, Path]) -> None:
    with tarfile.open(built[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "elman/version.py", "docs/course.md"} <= names
    assert {"tests/test_packaging.py", "examples/surnames.py"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".ci")]


@pytest.fixture(scope="module")
def environment(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel in it.

    What it depends on is that of the environment in which the tests run, named in a .pth file, so
    that nothing is downloaded; what is installed there in place, like this repository, is not seen.
    """
    folder = tmp_path_factory.mktemp("fresh") / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--python", programs / "python"]
    run(*pip, "install", "-q", "--no-deps", built[".whl"], cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    own = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(own))
    return programs


@pytest.mark.slow
def test_the_wheel_works_far_from_here(environment: Path, tmp_path: Path) -> None:
    where = run(environment / "python", "-c", "import elman; print(elman.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment.parent)
    elman = environment / "elman"
    assert "tour" in run(elman, "--help", cwd=tmp_path)
    assert "zaremba-small" in run(elman, "list", "recipes", cwd=tmp_path)
    listed = run(elman, "reproduce", "ptb", cwd=tmp_path)
    assert "kn5" in listed
    assert "141.19" in listed  # measured before the wheel was made, and shipped in it
    run(elman, "train", "ngram", "--data", "grammar", "--out", "counts", cwd=tmp_path)
    short = ["--set", "training.epochs=0.1", "--threads", "1"]
    run(elman, "train", "small", "--data", "grammar", "--out", "lstm", *short, cwd=tmp_path)
    assert "perplexity" in run(elman, "evaluate", "lstm", "--data", "grammar", cwd=tmp_path)


@pytest.mark.slow
def test_the_tour_far_from_here(environment: Path, tmp_path: Path) -> None:
    assert "LSTM" in run(environment / "elman", "tour", cwd=tmp_path)
    assert (tmp_path / "elman-tour.html").stat().st_size > 10_000


def fetch(address: str) -> str:
    """The response of an address, waiting until a server listens there."""
    for _ in range(100):
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                found: str = answer.read().decode()
                return found
        except urllib.error.URLError:
            time.sleep(0.2)
    raise AssertionError(f"nobody answers at {address}")


@pytest.mark.slow
def test_the_server_far_from_here(environment: Path, tmp_path: Path) -> None:
    elman = environment / "elman"
    run(elman, "train", "ngram", "--data", "grammar", "--out", "counts", cwd=tmp_path)
    command = [str(elman), "serve", "counts", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = next(line for line in server.stderr if line.startswith("http")).split()[0]
        try:
            for path, expected in (
                ("", "elman"),
                ("draw.js", "heatMap"),
                ("v1/models", "counts"),
            ):
                assert expected in fetch(f"{address}{path}")
        finally:
            server.terminate()
