"""How well raw sentences of a treebank are split into its words, without training a tagger.

    python benchmarks/raw_text.py FOLDER                  a folder with a CoNLL-U treebank
    python benchmarks/raw_text.py FOLDER --split test

Compares white space, the rules from the vocabulary (`corpus_form.py`) and the cuts learned from
SpaceAfter=No (`treebank_cuts.py`). The input is the `# text` of each sentence. A word is correct if
its text and its place are those of the treebank.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence

from elman.tasks.tagging.reader import read_tagged
from elman.text.corpora import open_corpus
from elman.text.corpus_form import CorpusForm
from elman.text.reader import Document
from elman.text.treebank_cuts import TreebankCuts

Split = Callable[[str], list[str]]


def raw_texts(document: Document) -> list[str]:
    """The `# text` of every sentence."""
    start = "# text = "
    return [line[len(start) :] for line in document.text.split("\n") if line.startswith(start)]


def placed(words: Sequence[str]) -> set[tuple[int, str]]:
    """Words with their places, counted in characters of words."""
    found, place = set(), 0
    for word in words:
        found.add((place, word))
        place += len(word)
    return found


def measure(split: Split, texts: Sequence[str], right: Sequence[Sequence[str]]) -> list[float]:
    """F1 of words, and the share of sentences that are split as in the treebank."""
    hits = words = found = same = 0
    for text, gold in zip(texts, right, strict=True):
        guessed = split(text)
        hits += len(placed(gold) & placed(guessed))
        words, found, same = words + len(gold), found + len(guessed), same + ([*gold] == guessed)
    return [2 * hits / (words + found), same / len(texts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--split", default="valid")
    asked = parser.parse_args()
    corpus = open_corpus(asked.data)
    train = read_tagged(corpus.split("train"))
    document = corpus.split(asked.split)
    right, texts = [one.words for one in read_tagged(document)], raw_texts(document)
    started = time.perf_counter()
    cuts = TreebankCuts.learn([one.chunks for one in train])
    seconds = time.perf_counter() - started
    counts = Counter(word for one in train for word in one.words)
    form = CorpusForm([word for word, _ in counts.most_common()], keeps_marks=True)
    ways: dict[str, Split] = {
        "white space": str.split,
        "rules from the vocabulary": form.split,
        "cuts of the treebank": cuts.split,
    }
    print("| split by | F1 of words | sentences as in the treebank |\n|---|---|---|")
    for name, split in ways.items():
        f1, same = measure(split, texts, right)
        print(f"| {name} | {100 * f1:.2f} % | {100 * same:.1f} % |")
    data = cuts.to_data()
    learned = f"{len(data['counts']):,} counts and {len(data['words']):,} exceptions"
    print(f"{len(texts):,} sentences; {learned}, learned in {seconds:.1f} s")


if __name__ == "__main__":
    main()
