"""The Python language reference as a corpus: real English that ships with every CPython.

The text is `pydoc_data.topics` of the running Python, which `help()` shows. So nothing is
downloaded, and the text differs a little between Python versions.
"""

import platform
import re
from dataclasses import dataclass

from elman.errors import InputError, choose
from elman.text.corpora import BuiltInCorpus

SHARES = {"train": 0.8, "valid": 0.1, "test": 0.1}

# The underline of a heading (****, ====) or the border of a table (+----+).
_DRAWN_LINE = re.compile(r"\s*[|+]?[-=*~]{3,}[-=*~|+]*\s*")


def python_docs_text(split: str) -> str:
    """The text of a split (train, valid or test), one paragraph per line.

    A paragraph is a block between blank lines, with white space collapsed to single spaces. The
    underlines of headings, the borders of tables and repeated paragraphs are dropped: topics share
    whole sections, which would otherwise be in training and test text. A topic is in one split
    only.
    """
    choose(SHARES, split, "split")
    topics = _unique_paragraphs(_topics())
    chosen = _assign(topics)
    return "".join(
        f"{line}\n" for topic, lines in topics.items() if chosen[topic] == split for line in lines
    )


@dataclass
class PythonDocs(BuiltInCorpus):
    """The text above as a corpus."""

    about = "the Python language reference, from the running Python"

    def text(self, split: str) -> str:
        return python_docs_text(split)

    def details(self) -> str:
        """The Python version of the text, and the number of words in each split."""
        texts = {split: python_docs_text(split) for split in SHARES}
        paragraphs = sum(text.count("\n") for text in texts.values())
        counts = {split: len(text.split()) for split, text in texts.items()}
        splits = ", ".join(f"{split} {count:,}" for split, count in counts.items())
        return (
            f"language reference of Python {platform.python_version()}: {len(_topics())} topics, "
            f"{paragraphs:,} paragraphs, {sum(counts.values()):,} words ({splits})"
        )


def _topics() -> dict[str, str]:
    """The text of each topic, by name, in alphabetical order."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise InputError(
            "python-docs: this Python comes without 'pydoc_data'; install its full standard "
            "library, or use the corpus 'grammar' or a text file of your own"
        ) from None
    return dict(sorted(topics.items()))


def _paragraphs(text: str) -> list[str]:
    """The blocks between blank lines, each on one line, without underlines and borders."""
    paragraphs = []
    for block in re.split(r"\n\s*\n", text):
        written = [line for line in block.splitlines() if not _DRAWN_LINE.fullmatch(line)]
        paragraphs.append(" ".join(" ".join(written).split()))
    return [paragraph for paragraph in paragraphs if paragraph]


def _unique_paragraphs(topics: dict[str, str]) -> dict[str, list[str]]:
    """The paragraphs of each topic, without those that occurred before."""
    seen: set[str] = set()
    unique: dict[str, list[str]] = {}
    for topic, text in topics.items():
        unique[topic] = [p for p in dict.fromkeys(_paragraphs(text)) if p not in seen]
        seen.update(unique[topic])
    return unique


def _assign(topics: dict[str, list[str]]) -> dict[str, str]:
    """The split of each topic: largest topic first, each to the split that lacks the most words.

    So the shares are right in any Python version, and validation and test text consist of many
    small topics rather than one large one.
    """
    sizes = {topic: len(" ".join(lines).split()) for topic, lines in topics.items()}
    lacking = {split: share * sum(sizes.values()) for split, share in SHARES.items()}
    chosen: dict[str, str] = {}
    for topic in sorted(sizes, key=lambda topic: (-sizes[topic], topic)):
        chosen[topic] = max(lacking, key=lambda split: lacking[split])
        lacking[chosen[topic]] -= sizes[topic]
    return chosen
