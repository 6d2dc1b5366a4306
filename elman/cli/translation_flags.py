"""What `elman translate`, `summarise` and `caption` share: how to search, and how to print.

Each of them reads sources in its own way and hands them on. One line comes out for every source, in
its place; with `--n-best`, so many lines with their source's number and score before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import WholeNumber
from elman.cli.attention_flags import AttentionFlags
from elman.cli.input_text import read_given
from elman.cli.output import counted, print_json
from elman.errors import InputError
from elman.tasks.sentence_training import load_kind
from elman.tasks.translation.ensemble import mix_translators
from elman.tasks.translation.trained import TrainedTranslator, Written


@Parameter(name="*")
@dataclass(kw_only=True)
class Search:
    """How the text of a source is found."""

    beam: WholeNumber = 5
    "Search for the likeliest whole text, this many at a time; 1: word after word (greedy)."
    n_best: WholeNumber = 1
    "How many texts to print for each source, best first; at most as many as the beam has."
    length_penalty: float = 1.0
    "Above 0 favours longer texts: 0 none, 1 about the mean per word (Wu et al. 2016)."
    coverage_penalty: float = 0.0
    "Above 0 favours texts that look at all of the source."
    min_tokens: WholeNumber = 0
    "No end before this many tokens."
    max_tokens: WholeNumber | None = None
    "Most tokens of a text; by default about twice what is usual for such a source."
    sample: bool = False
    "Draw each text by chance instead, --n-best of them."
    temperature: float = 1.0
    "Of --sample: below 1 likelier, above 1 more various."
    seed: WholeNumber = 0
    "Of --sample."
    batch_size: WholeNumber = 64
    "Sources side by side. Never changes the result."

    def options(self) -> dict[str, Any]:
        """As `TrainedTranslator.search` takes them."""
        given: dict[str, Any] = {"batch_size": self.batch_size, "min_tokens": self.min_tokens}
        if self.max_tokens is not None:
            given["max_tokens"] = self.max_tokens
        if self.sample:
            drawn = {"samples": self.n_best, "temperature": self.temperature, "seed": self.seed}
            return {**given, **drawn, "beam": None}
        if self.temperature != 1.0:
            raise InputError("--temperature is for --sample; add it, or leave both out")
        penalties = {"length_penalty": self.length_penalty}
        if self.coverage_penalty:
            penalties["coverage_penalty"] = self.coverage_penalty
        return {**given, **penalties, "beam": self.beam, "n_best": self.n_best}


Mixed = Annotated[
    tuple[str, ...],
    Parameter(
        name="--mix",
        help="Another run over the same vocabularies, to decide together with: their probabilities "
        "are averaged. May be given several times.",
    ),
]


def load_translator(run: str, mixed: Sequence[str] = ()) -> TrainedTranslator:
    """The run, alone or with others, or one line that says what it is instead."""

    trained: TrainedTranslator = load_kind(Path(run), "encoder-decoder")
    mix_translators(trained, [load_kind(Path(other), "encoder-decoder") for other in mixed])
    return trained


def read_lines(file: str | None, text: str | None) -> list[str]:
    """A source per line, the empty ones too."""
    return read_given(file, text).text.removesuffix("\n").split("\n")


def write_texts(
    trained: TrainedTranslator,
    sources: Sequence[Any],
    search: Search,
    looking: AttentionFlags,
    *,
    json: bool,
    what: str,
) -> None:
    """Find the texts of every source and print them, and show where the model looked."""
    looking.check(trained, len(sources))
    with counted(what) as progress:
        found = trained.search(sources, progress=progress, **search.options())
    looked = looking.show(trained, sources, found)
    if json:
        print_found_json(sources, found, further=looked)
    else:
        print_found(found, several=search.n_best > 1)


def print_found(found: list[list[Written]], *, several: bool) -> None:
    """A line for every source; with `several`, a line per text in columns with tabs between."""
    for number, texts in enumerate(found, 1):
        if not several:
            print(texts[0].text if texts else "")
            continue
        for rank, written in enumerate(texts, 1):
            print(f"{number}\t{rank}\t{written.score:.4f}\t{written.text}")


def print_found_json(
    sources: Sequence[Any], found: list[list[Written]], *, further: Sequence[Any] = ()
) -> None:
    """An object for every source; `further`: more to say of each, as dicts."""
    results = []
    for number, texts in enumerate(found):
        source = sources[number]
        result: dict[str, Any] = {"source": source} if isinstance(source, str) else {}
        best = texts[0] if texts else None
        result |= {
            "text": best.text if best else "",
            "log_prob": best.log_prob if best else 0.0,
            "n_best": [
                {"text": one.text, "log_prob": one.log_prob, "score": one.score} for one in texts
            ],
        }
        results.append(result | (further[number] if further else {}))
    print_json(results)
