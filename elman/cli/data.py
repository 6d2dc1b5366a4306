"""`elman data`: an overview of a file, a folder or a built-in corpus."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import Columns, InputFile, Json
from elman.cli.output import note, print_json, print_table
from elman.errors import InputError
from elman.figures.files import make_folder, writing
from elman.tasks.data_kinds import TAGGED
from elman.tasks.data_overview import TOKENS, DataOverview
from elman.tasks.data_warnings import describe_data
from elman.text.corpora import CORPORA, open_corpus
from elman.text.tables import parse_columns

_SHOWN = 20  # labels; --json lists all
_CHARACTERS = 10  # that training never sees
_BAR = 24  # characters of the longest bar


def data(
    name: InputFile | None = None,
    /,
    *,
    columns: Columns = None,
    write: str | None = None,
    json: Json = False,
) -> None:
    """Describe data: what it is, how much, vocabulary, labels, possible problems.

    Works for running text, labelled texts, tagged sentences, pairs of texts and questions on
    passages. The content decides which of them it is.

    For example:
      elman data
      elman data my-text.txt
      elman data reviews.csv --columns text=review,label=stars
      elman data grammar --write grammar-files

    Parameters
    ----------
    name
        A file, a folder, a built-in corpus, or - for standard input. Default: list the built-in
        corpora.
    write
        Write the splits as text files into this folder, for other tools.
    """
    if write == "" or (write is not None and name is None):
        raise InputError("--write needs a dataset and a folder: elman data NAME --write FOLDER")
    if name is None:
        _list(json)
        return
    if write is not None:
        documents = open_corpus(name, label_folders=True).documents
        _write(Path(write), {split: document.text for split, document in documents.items()})
    found = describe_data(name, None if columns is None else parse_columns(columns))
    if json:
        print_json(found.to_data())
        return
    form = f" ({found.dataset.format})" if found.dataset.format else ""
    print(f"{found.dataset.name}: {found.kind}{form}")
    _print_splits(found)
    _print_labels(found)
    _print_words(found)
    _print_examples(found)
    if found.warnings:
        print()
    for message in found.warnings:
        print(f"warning: {message}")
    for message in found.dataset.notes:
        note(message)


def _print_splits(found: DataOverview) -> None:
    several = any(len(split.sides) > 1 for split in found.splits.values())
    rows = []
    for name, split in found.splits.items():
        for place, (side, counts) in enumerate(split.sides.items()):
            shown: list[Any] = [name, split.examples, split.duplicates, split.in_train]
            unknown = split.unknown.get(side)
            rows.append(
                [
                    *(shown if place == 0 else [""] * len(shown)),
                    *([side] if several else []),
                    *(counts.tokens, counts.characters, *counts.quantiles().values()),
                    *(len(counts.words), "" if unknown is None else f"{unknown:.1%}"),
                ]
            )
    print()
    sizes = ["tokens", "characters", "median", "95 %", "longest", "vocabulary", "unknown"]
    sides = ["side"] if several else []
    print_table(["split", found.unit, "copies", "in train", *sides, *sizes], rows)
    print(
        f"copies: of earlier {found.unit}; in train: {found.unit} that also occur in training; "
        "median, 95 %, longest: in tokens; unknown: share of tokens that never occur in training"
    )
    print(f"tokens: {TOKENS[found.tokenizer]}; suggested tokenizer: {found.tokenizer}")
    unseen = {name: one for name, one in found.unknown_characters().items() if one}
    if unseen:
        characters = "; ".join(
            f"{name} {len(one)} ({' '.join(c for c, _ in one.most_common(_CHARACTERS))})"
            for name, one in unseen.items()
        )
        print(f"characters that never occur in training: {characters}")


def _print_labels(found: DataOverview) -> None:
    """Print how often each label occurs, with bars for the first split."""
    first, *others = found.splits
    counts = found.splits[first].labels
    every = [*counts] + [
        label for name in others for label in found.splits[name].labels if label not in counts
    ]
    if not every:
        return
    ranked = sorted(dict.fromkeys(every), key=lambda label: -counts[label])
    total, most = max(found.splits[first].labelled, 1), max(counts.values(), default=1)
    rows = [
        [
            label,
            *(found.splits[name].labels[label] for name in found.splits),
            f"{counts[label] / total:.1%}",
            "█" * round(_BAR * counts[label] / most),
        ]
        for label in ranked[:_SHOWN]
    ]
    print()
    name = "tag" if found.kind == TAGGED else "label"
    print_table([name, *found.splits, f"of {first}", ""], rows)
    if len(ranked) > _SHOWN:
        print(f"and {len(ranked) - _SHOWN:,} more (--json lists all)")


def _print_words(found: DataOverview) -> None:
    print()
    for side, words in found.frequent_words().items():
        shown = "  ".join(f"{word} {count:,}" for word, count in words)
        which = "" if side == "text" else f" ({side})"
        print(f"most frequent{which}: {shown}")


def _print_examples(found: DataOverview) -> None:
    for example in found.examples():
        print()
        for name, text in example.items():
            print(f"{name}: {text}")


def _list(json: bool) -> None:
    """List the built-in corpora."""
    built_in = {name: corpus.about for name, corpus in CORPORA.items()}
    if json:
        print_json(built_in)
        return
    print_table(["corpus", "what it is"], [*built_in.items()])
    print("next: elman data grammar, or elman data FILE")


def _write(folder: Path, texts: dict[str, str]) -> None:
    paths = {split: make_folder(folder) / f"{split}.txt" for split in texts}
    for path in paths.values():  # check all of them before writing the first
        if path.exists():
            raise InputError(f"{path}: exists already; choose another folder")
    for split, text in texts.items():
        with writing(paths[split]) as temporary:
            temporary.write_text(text, encoding="utf-8")
    note(f"wrote {', '.join(f'{split}.txt' for split in texts)} into {folder}")
