"""Test the promises of docs/reliability.md, each many times, and print the outcomes.

    python benchmarks/torture.py                       list the promises
    python benchmarks/torture.py hostile --trials 40   test one promise, with fewer trials
    python benchmarks/torture.py all                   test all, with the trials of the docs
    python benchmarks/torture.py table                 print the results and write them to the page

Every promise is a file in benchmarks/torture/. Results are stored in docs/reliability.json. Linux
only; the test of full disks needs the right to mount a file system.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from elman.version import __version__

RESULTS = Path(__file__).parents[1] / "docs" / "reliability.json"
PAGE = RESULTS.with_name("reliability.md")
# In the order of the table; each is a module in the folder `torture`.
PROMISES = ["writers", "resume", "numbers", "hostile", "disk", "memory"]
# How the table names outcomes and figures of reliability.json; others keep their names.
_WORDS = {
    "both ended": "with both processes to the end",
    "one killed": "with one process killed",
    "same bytes": "with the same bytes",
    "given up in one line": "ended with one error line",
    "refused": "refused in one line",
    "full": "ran out of space",
    "fitted": "had enough space",
    "one clear line": "ended with one clear line",
    "MB above the beginning": "most extra memory in MB:",
    "seconds": "slowest in seconds:",
    "combinations": "combinations tested:",
}


def main() -> None:
    """Run the tests that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("promise", nargs="?", choices=[*PROMISES, "all", "table"])
    parser.add_argument("--trials", type=int, help="default: as many as in the docs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    asked = parser.parse_args()
    if asked.promise is None:
        for name in PROMISES:
            module = import_module(f"torture.{name}")
            print(f"{name:10} {module.TRIALS:6,} trials  {module.ABOUT}")
    elif asked.promise == "table":
        write_table(json.loads(asked.results.read_text()))
    else:
        names = PROMISES if asked.promise == "all" else [asked.promise]
        failed = [name for name in names if attempt(name, asked.trials, asked.seed, asked.results)]
        sys.exit(1 if failed else 0)


def attempt(name: str, trials: int | None, seed: int, results: Path) -> bool:
    """Test one promise and store the outcomes; returns whether it was broken."""
    module = import_module(f"torture.{name}")
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        os.chdir(place)
        tally = module.attempt(trials or module.TRIALS, seed, Path(place))
        os.chdir("/")
    data = {"about": module.ABOUT, "seed": seed, **_where(), **tally.to_data()}
    kept = json.loads(results.read_text()) if results.exists() else {}
    results.write_text(json.dumps({**kept, name: data}, indent=1, ensure_ascii=False) + "\n")
    print(f"{name}: {data['trials']} trials, {sum(tally.failures.values())} failures")
    print(json.dumps({key: data[key] for key in ("outcomes", "failures", "figures", "seconds")}))
    return bool(tally.failures)


def _where() -> dict[str, Any]:
    return {"elman": __version__, "python": platform.python_version(), "cores": os.cpu_count()}


def write_table(results: dict[str, Any]) -> None:
    """Write the table between the two marks of the page, and print it."""
    before, begin, rest = PAGE.read_text().partition("<!-- table -->\n")
    _, end, after = rest.partition("<!-- end of table -->\n")
    PAGE.write_text(f"{before}{begin}{table(results)}\n{end}{after}")
    print(table(results))


def table(results: dict[str, Any]) -> str:
    """The table of docs/reliability.md."""
    lines = ["| promise | trials | failures | outcomes |", "|---|---|---|---|"]
    for name in PROMISES:
        if (found := results.get(name)) is None:
            continue
        outcomes = ", ".join(
            f"{count:,} {_word(what)}" for what, count in found["outcomes"].items()
        )
        figures = ", ".join(f"{_word(what)} {value:,}" for what, value in found["figures"].items())
        told = "; ".join(filter(None, [outcomes, figures]))
        failures = sum(found["failures"].values())
        lines.append(f"| {found['about']} | {found['trials']:,} | {failures} | {told} |")
    return "\n".join(lines)


def _word(name: str) -> str:
    return _WORDS.get(name, name)


if __name__ == "__main__":
    main()
