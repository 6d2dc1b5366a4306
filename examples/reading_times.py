"""Do surprising words take longer to read? A regression on self-paced reading times.

    elman surprisal runs/kn5 runs/lstm wordinfo_realigned.tsv > joined.tsv
    python examples/reading_times.py joined.tsv --time gmeanItemRT --frequencies wiki.train.tokens

Takes a table with one word per row, in the order of the text, with reading times and the columns
that `elman surprisal` adds. For each model it fits

    time = b0 + Σ_k (length + log frequency + surprisal of the word k places back) + error

with k = 0, 1, 2: readers spill over, so the two words before count too. A row is left out where one
of its three words is out of vocabulary, since its surprisal is not the word's. Needs numpy only.
"""

import argparse
import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np

BACK = 2  # words of spill-over
Row = dict[str, str]


def bare(word: str) -> str:
    """A word without the marks around it, in lower case."""
    return word.strip(".,;:!?\"'()“”‘’—-").lower()


def count_words(path: Path) -> Counter[str]:
    """How often each word of a text occurs."""
    return Counter(map(str.lower, path.read_text("utf-8").split()))


def windows(rows: list[Row], item: str, unknown: str) -> list[list[Row]]:
    """Every word with the two before it, all of one story and in the vocabulary."""
    found = [rows[end - BACK : end + 1] for end in range(BACK, len(rows))]
    return [
        window
        for window in found
        if len({row[item] for row in window}) == 1 and all(row[unknown] == "0" for row in window)
    ]


def fit(predictors: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Ordinary least squares: coefficients, their standard errors, and the log likelihood."""
    coefficients, *_ = np.linalg.lstsq(predictors, times, rcond=None)
    residuals = times - predictors @ coefficients
    variance = residuals @ residuals / len(times)
    free = len(times) - predictors.shape[1]
    covariance = np.linalg.pinv(predictors.T @ predictors) * variance * len(times) / free
    likelihood = -len(times) / 2 * (math.log(2 * math.pi * variance) + 1)
    return coefficients, np.sqrt(np.diag(covariance)), likelihood


def regress(rows: list[Row], ending: str, given: argparse.Namespace, counts: Counter[str]) -> None:
    """One model: with and without surprisal."""
    used = windows(rows, given.item, f"unknown{ending}")
    times = np.array([float(window[-1][given.time]) for window in used])
    controls = [np.ones(len(used))]
    surprisals = []
    for back in range(BACK + 1):
        words = [window[-1 - back] for window in used]
        controls.append(np.array([float(len(row[given.word])) for row in words]))
        controls.append(np.array([math.log(counts[bare(row[given.word])] + 1) for row in words]))
        surprisals.append(np.array([float(row[f"surprisal{ending}"]) for row in words]))
    _, _, before = fit(np.stack(controls, 1), times)
    coefficients, errors, after = fit(np.stack([*controls, *surprisals], 1), times)
    unknown = sum(row[f"unknown{ending}"] != "0" for row in rows)
    name = ending.removeprefix("_") or "the model"
    print(f"{name}: {len(used):,} of {len(rows):,} words used; {unknown:,} out of vocabulary")
    for back, (slope, error) in enumerate(zip(coefficients[-3:], errors[-3:], strict=True)):
        place = "this word" if back == 0 else f"{back} back"
        print(f"  {place:<10} {slope:+.3f} ms per bit ± {error:.3f}, t = {slope / error:+.1f}")
    gained = (after - before) / len(used) * 1000
    print(f"  surprisal adds {gained:.2f} nats of log likelihood per 1,000 words")


def main() -> None:
    """Every model of the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=Path, help="what elman surprisal printed")
    parser.add_argument("--time", default="meanItemRT", help="the column of reading times, in ms")
    parser.add_argument("--word", default="word", help="the column of words")
    parser.add_argument("--item", default="item", help="the column that tells stories apart")
    parser.add_argument("--frequencies", type=Path, required=True, help="a text to count words in")
    given = parser.parse_args()
    with given.table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    counts = count_words(given.frequencies)
    for name in rows[0]:
        if name.startswith("surprisal"):
            regress(rows, name.removeprefix("surprisal"), given, counts)


if __name__ == "__main__":
    main()
