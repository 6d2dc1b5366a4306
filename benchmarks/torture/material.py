"""Small texts, recipes and runs of every kind, so that a trial takes a fraction of a second."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

WORDS = ["the", "a", "cat", "dog", "bird", "sees", "hears", "likes", ".", "old", "small", "tree"]

_SIZES = ["model.hidden_size=6", "model.embedding_size=6"]
_SHORT = ["training.batch_size=4", "training.epochs=2"]
_NEURAL = [*_SIZES, *_SHORT, "training.window=7"]


@dataclass(frozen=True)
class Kind:
    """A kind of run: how to train it, and which commands read it."""

    recipe: str
    data: str  # the folder of `write_texts` to train on
    settings: tuple[str, ...]
    commands: tuple[str, ...]  # templates with {run}, {data} and {out}

    def train(self, place: Path, out: Path, *further: str) -> list[str]:
        """The command that trains it."""
        arguments = ["train", self.recipe, "--data", str(place / self.data), "--out", str(out)]
        for setting in (*self.settings, *further):
            arguments += ["--set", setting] if "=" in setting else [setting]
        return arguments

    def ask(self, command: str, place: Path, run: Path, out: Path) -> list[str]:
        """Fill in the template of a command."""
        values = {"run": run, "data": place / self.data, "out": out}
        return [word.format(**values) for word in command.split()]


_ASKED = (
    "evaluate {run} --data {data}",
    "generate {run} --max-tokens 5",
    "suggest {run} the",
    "surprisal {run} --text cat",
    "compare {run} {run} --data {data}",
)
_TRAINED = (
    *_ASKED,
    "train --resume {run}",
    "train --resume {run}",
    "quantise {run} --out {out}",
    "embed {run} --text cat",
)
_TASK = ("evaluate {run} --data {data}", "train --resume {run}")
KINDS = {
    "ngram": Kind("ngram", "text", (), (*_ASKED, "export {run} {out}")),
    "subwords": Kind("ngram-subwords", "text", ("text.vocabulary_size=300",), _ASKED),
    "lstm": Kind("quick", "text", (*_NEURAL, "model.output_options.samples=5"), _TRAINED),
    "plain": Kind("quick", "text", (*_NEURAL, "model.output=full"), _TRAINED),
    "classes": Kind(
        "small",
        "text",
        (*_NEURAL, "model.cell=gru", "model.output=classes", "training.optimizer=adam"),
        _TRAINED,
    ),
    "characters": Kind(
        "char-cnn-small", "text", ("model.hidden_size=6", *_SHORT, "training.window=7"), _TRAINED
    ),
    "window": Kind("bengio", "text", (*_NEURAL,), _TRAINED),
    "tagger": Kind("tagger", "tagged", (*_SIZES, *_SHORT), (*_TASK, "tag {run} {data}/test.txt")),
    "classifier": Kind(
        "classifier", "labelled", (*_SIZES, *_SHORT), (*_TASK, "classify {run} --text cat")
    ),
    "translator": Kind(
        "translator",
        "pairs",
        (*_SIZES, *_SHORT, "text.source=src", "text.target=tgt", "text.tokenizer=words"),
        (*_TASK, "translate {run} {data}/test.src"),
    ),
    "elmo": Kind(
        "elmo-small",
        "text",
        ("model.hidden_size=6", "model.projection=6", *_SHORT),
        ("embed {run} {data}/test.txt", *_TASK),
    ),
}


def write_texts(place: Path, lines: int = 40) -> None:
    """Write folders with running text, tagged sentences, labelled sentences and pairs."""
    drawn = random.Random(7)
    sentences = [[drawn.choice(WORDS) for _ in range(drawn.randint(2, 8))] for _ in range(lines)]
    for split, part in (
        ("train", sentences),
        ("valid", sentences[:12]),
        ("test", sentences[12:24]),
    ):
        for kind in ("text", "tagged", "labelled", "pairs"):
            (place / kind).mkdir(parents=True, exist_ok=True)
        text = "".join(" ".join(words) + "\n" for words in part)
        (place / "text" / f"{split}.txt").write_text(text)
        tagged = "".join("".join(f"{w}\t{w[0].upper()}\n" for w in words) + "\n" for words in part)
        (place / "tagged" / f"{split}.txt").write_text(tagged)
        rows = "".join(
            f"{'yes' if 'the' in words else 'no'}\t{' '.join(words)}\n" for words in part
        )
        (place / "labelled" / f"{split}.tsv").write_text(rows)
        (place / "pairs" / f"{split}.src").write_text(text)
        turned = "".join(" ".join(reversed(words)) + "\n" for words in part)
        (place / "pairs" / f"{split}.tgt").write_text(turned)


def reseal(run: Path) -> None:
    """Write a valid manifest for a manipulated run, as an attacker would."""
    from elman.runs import manifest

    data = json.loads((run / manifest.MANIFEST).read_text())
    data.pop("sha256", None)
    (run / manifest.MANIFEST).write_text(manifest._sealed(data))
