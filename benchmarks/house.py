"""Measure the structure of the package: sizes, imports, branches on the kind of a run, eight walks.

    python benchmarks/house.py                   this checkout
    python benchmarks/house.py . ../old          several side by side
    python benchmarks/house.py --list            also list every branch on the kind of a run

A walk counts the files and functions of the package that one command calls. `sys.setprofile` counts
them in the second call of the command, so imports do not count. All walks use the stored runs of
0.1.0 in `tests/fixtures`, which every version can read.
"""

import argparse
import ast
import contextlib
import inspect
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "runs-0.1"
TINY = ["training.epochs=1", "model.hidden_size=6", "model.embedding_size=6"]
EVALUATE = ["evaluate", "lstm-layers", "--data", "data/text"]
WALKS: dict[str, list[str]] = {
    "train": ["train", "small", "--data", "data/text", "--out", "out"]
    + [word for setting in TINY for word in ("--set", setting)],
    "evaluate with cache and dynamic": [*EVALUATE, "--with", "cache", "--with", "dynamic"],
    "generate": ["generate", "lstm-layers", "--prompt", "the cat", "--max-tokens", "5"],
    "serve one request": ["serve", "lstm-layers", "--port", "0"],
    "translate": ["translate", "translator", "--text", "the dog sees a cat"],
    "tag": ["tag", "tagger-crf", "--text", "Ann sees Bob ."],
    "resume": ["train", "--resume", "stopped-language-model"],
    "surprisal": ["surprisal", "lstm-layers", "--text", "the cat sees a dog ."],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--list", action="store_true", help="list every branch on the kind")
    parser.add_argument("--walk", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walk:
        print(json.dumps(count_walk(given.walk)))
        return
    columns = {path.resolve().name: measure(path.resolve()) for path in given.checkouts}
    print(f"| measure | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for name in next(iter(columns.values())):
        print(f"| {name} | {' | '.join(str(column[name]) for column in columns.values())} |")
    for path in given.checkouts if given.list else []:
        print("", f"{path.resolve().name}: branches on the kind of a run", sep="\n")
        print(*branches(path.resolve() / "elman"), sep="\n")


def measure(checkout: Path) -> dict[str, Any]:
    """All figures of a checkout, by name."""
    package = checkout / "elman"
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")}
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in trees]
    figures = {
        "files": len(lines),
        "median lines": f"{median(lines):g}",
        "lines": f"{sum(lines):,}",
        "function-level imports": sum(map(count_local_imports, trees.values())),
        "TYPE_CHECKING blocks": sum(map(count_type_checking, trees.values())),
        "branches on the kind of a run": len(branches(package)),
    }
    return figures | {f"{walk} (files / functions)": take_walk(walk, checkout) for walk in WALKS}


# The source code --------------------------------------------------------------------------------


def count_local_imports(tree: ast.AST) -> int:
    """Import statements inside functions."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    found = {
        node
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(found)


def count_type_checking(tree: ast.AST) -> int:
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    return sum(ast.unparse(block.test) == "TYPE_CHECKING" for block in blocks)


def branches(package: Path) -> list[str]:
    """The places where code asks for the kind of a run, as file:line: expression."""
    found = []
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if asks_for_kind(node):
                place = f"{path.relative_to(package.parent)}:{node.lineno}"  # type: ignore[attr-defined]
                found.append(f"{place}: {ast.unparse(node)}")
    return found


def asks_for_kind(node: ast.AST) -> bool:
    """Whether a node compares the kind in a configuration or run folder, looks into the registry
    of tasks, or checks the class of a trained model.
    """
    if isinstance(node, ast.Compare):
        return any(map(is_kind, (node.left, *node.comparators)))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        classes = ast.walk(node.args[1])
        return any(isinstance(name, ast.Name) and name.id.startswith("Trained") for name in classes)
    return False


def is_kind(node: ast.AST) -> bool:
    text = ast.unparse(node)
    return (
        text.endswith(("config.kind", "['model']['kind']", "SENTENCE_MODELS"))
        or text.startswith(("run_kind(", "kind_in("))
        or text in ("TASKS", "run_kind")
    )


# The walks --------------------------------------------------------------------------------------


def take_walk(walk: str, checkout: Path) -> str:
    """Files and functions of a walk, counted in a new process on copies of the stored runs."""
    with tempfile.TemporaryDirectory() as place:
        for turn in ("first", "second"):
            shutil.copytree(FIXTURES, Path(place, turn))
        command = [sys.executable, __file__, "--walk", walk]
        environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        shown = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, check=False
        )
    if shown.returncode:
        raise SystemExit(f"{walk}, {checkout}: {shown.stderr}")
    files, functions = json.loads(shown.stdout.splitlines()[-1])
    return f"{files} / {functions}"


def count_walk(walk: str) -> tuple[int, int]:
    from elman.cli import run

    command = WALKS[walk]
    passed: set[tuple[str, str]] = set()
    with contextlib.redirect_stdout(io.StringIO()):
        if command[0] == "serve":
            os.chdir("first")
            code = serve_and_ask(run, command, passed)
        else:
            with contextlib.chdir("first"):
                run(command)
            os.chdir("second")
            with profiled(passed):
                code = run(command)
    if code:
        raise SystemExit(f"exit code {code}")
    return len({file for file, _ in passed}), len(passed)


@contextlib.contextmanager
def profiled(passed: set[tuple[str, str]]) -> Iterator[None]:
    """Collect the functions of the package that are called, in every thread."""
    import elman

    package = str(Path(elman.__file__).parent)

    def see(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<"
        if event == "call" and is_function and code.co_filename.startswith(package):
            passed.add((code.co_filename, code.co_qualname))

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def serve_and_ask(
    run: Callable[[list[str]], int], command: list[str], passed: set[tuple[str, str]]
) -> int:
    """Start the server, send two requests, count the functions of the second, stop the server."""
    announced = Announcement()

    def ask() -> None:
        try:
            address = announced.wait()
            asked = json.dumps({"prompt": "the cat", "max_tokens": 5}).encode()
            headers = {"Content-Type": "application/json"}
            for _ in range(2):
                passed.clear()
                request = urllib.request.Request(f"{address}/v1/completions", asked, headers)
                with urllib.request.urlopen(request) as response:
                    response.read()
            answered.update(passed)
        finally:  # without a request, the server would run forever
            os.kill(os.getpid(), signal.SIGINT)

    answered: set[tuple[str, str]] = set()
    client = threading.Thread(target=ask)
    client.start()  # before profiling, so that it is not counted
    with contextlib.redirect_stderr(announced), profiled(passed):
        code = run(command)
    client.join()
    passed.clear()
    passed.update(answered)
    return code if answered else 1


class Announcement(io.StringIO):
    """Standard error of a server, on which it announces its address."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "http" in self.getvalue() and "\n" in self.getvalue().partition("http")[2]:
            self.ready.set()
        return written

    def wait(self) -> str:
        """The address, once the server answers there."""
        if not self.ready.wait(600):
            raise TimeoutError("the server did not start")
        address = "http" + self.getvalue().partition("http")[2].split("/ ")[0]
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/health").close()
                break
            time.sleep(0.1)
        return address


if __name__ == "__main__":
    main()
