"""Measure the gain and the cost of every adapter on a run.

    python benchmarks/adapters.py RUN DATA [--counts RUN] [--slow]

Prints the perplexity on the test text, the gain over the run without adapters, and the seconds for
fitting (on the validation text; dynamic evaluation also reads training text) and for scoring. With
--slow, dynamic evaluation too, alone and with other adapters. --counts: an n-gram run to mix with.
"""

import sys
import time

from elman.tasks.task import load


def measure(run, data, adapters):
    """Perplexity on the test text, and seconds for fitting and scoring."""
    started = time.perf_counter()
    adapted = load(run).with_adapters(adapters, data)
    fitted = time.perf_counter()
    perplexity = adapted.evaluate(data).perplexity
    return perplexity, fitted - started, time.perf_counter() - fitted


def main(run, data, counts, slow):
    mixed = [f"mix:run={counts}"] if counts else []
    rows = [
        [],
        ["cache"],
        ["temperature"],
        ["monte-carlo"],
        ["continuous-cache"],
        *([mixed, [*mixed, "cache"], ["continuous-cache", *mixed]] if mixed else []),
    ]
    if slow:
        rows += [["dynamic:rule=sgd"], ["dynamic"], ["dynamic", "continuous-cache", *mixed]]
    print(f"{'adapters':60}{'perplexity':>12}{'gain %':>9}{'fit s':>9}{'score s':>9}", flush=True)
    alone = None
    for adapters in rows:
        perplexity, fitting, scoring = measure(run, data, adapters)
        alone = alone or perplexity
        gain = 100 * (1 - perplexity / alone)
        name = " ".join(adapters) or "–"
        print(f"{name:60}{perplexity:12.2f}{gain:9.1f}{fitting:9.1f}{scoring:9.1f}", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    slow = "--slow" in words
    words = [word for word in words if word != "--slow"]
    counts = None
    if "--counts" in words:
        place = words.index("--counts")
        counts = words[place + 1]
        del words[place : place + 2]
    main(*words, counts, slow)
