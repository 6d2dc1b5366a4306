"""Tables of published figures as data: a TOML file per table, checked when it is read.

Takes the folder of the tables, gives each as a `PublishedTable`. A row says what was published and
how it would be obtained here: a recipe with settings and adapters, an experiment of ours, or, for
what is quoted only, the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elman.config import build, read_toml
from elman.errors import InputError, choose

FOLDER = Path(__file__).parent / "tables"
METRICS = {  # and whether a larger number is a better one
    "perplexity": False,
    "nats": False,
    "accuracy": True,
    "F1": True,
    "BLEU": True,
    "score": True,
}
_REFERENCE = re.compile(r"\{([^{}]+)\}")


@dataclass(kw_only=True)
class PublishedRow:
    """One line of a table, and how it would be obtained here."""

    name: str = ""
    about: str = ""  # the model, in words
    published: float | None = None  # None: nobody has published it
    valid: float | None = None  # published for the validation text
    spread: float | None = None  # published as ± beside the figure
    also: dict[str, float] | None = None  # further figures of the same line, quoted only
    parameters: str = ""  # as published
    source: str = ""  # where it was published, if not where the table was
    recipe: str = ""
    settings: tuple[str, ...] = ()  # section.field=value, as for --set
    adapters: tuple[str, ...] = ()  # as for --with; {row} or {table/row} is that row's run
    split: str = "test"
    experiment: str = ""  # a name in EXPERIMENTS
    task: str = ""  # of an experiment
    cell: str = ""
    starts_from: str = ""  # row or table/row: the training begins with the weights of that run
    seeds: int = 1  # how many trainings with different seeds; the verdict is about their mean
    ours: bool = False  # a recipe of ours beside the publication's own: shown, never judged
    order: str = ""  # judge the order of the rows with the same word here, not the figure
    value: float | None = None  # of a result, for the order of the queue; None: the table's
    tolerance: float = 0.005  # of the published figure: as near as this counts as the same
    quoted: str = ""  # why it cannot be run at all
    teraflop: float | None = None  # of a quoted row: cost computed from published sizes
    cost: str = ""  # of a quoted row: how the cost was computed, or why there is none
    note: str = ""  # our configuration where theirs is unknown; what to keep in mind

    def __post_init__(self) -> None:
        ways = [way for way in ("recipe", "experiment", "quoted") if getattr(self, way)]
        if len(ways) != 1:
            given = " and ".join(ways) or "none"
            raise InputError(
                f"row {self.name!r}: needs one of recipe, experiment, quoted; has {given}"
            )
        if self.published is None and self.quoted:
            raise InputError(f"row {self.name!r}: has neither a published figure nor a recipe")
        if self.experiment and (self.published is None or not self.task or not self.cell):
            raise InputError(f"row {self.name!r}: an experiment has published, task and cell")
        if not 0 < self.tolerance < 1:
            raise InputError(f"row {self.name!r}: tolerance={self.tolerance} must be between 0, 1")
        if self.seeds < 1:
            raise InputError(f"row {self.name!r}: seeds={self.seeds} must be at least 1")
        if self.value is not None and not self.value >= 0:
            raise InputError(f"row {self.name!r}: value={self.value} must not be negative")
        if self.quoted and not self.cost:
            raise InputError(f"row {self.name!r}: a quoted row says in `cost` what is known of it")
        if self.experiment:
            self.order = self.order or self.task

    @property
    def trial(self) -> str:
        """What an experiment is about, in a word: "ablation arithmetic gru"; else empty."""
        return f"{self.experiment} {self.task} {self.cell}".strip()


@dataclass(kw_only=True)
class PublishedTable:
    """A table of figures that were measured in the same way."""

    name: str
    title: str
    source: str  # who published it
    metric: str
    place: int = 0  # among the tables
    deck: str = ""  # the lecture that shows it
    data: str = ""  # name of the text, as a folder is named
    sha256: str = ""  # of its test text; empty: any text will do
    tokens: int = 0  # published size of the training text, for costs where it is absent
    vocabulary: int = 0  # published number of words, likewise
    value: float = 1.0  # of a result of one row, for the order of the queue
    note: str = ""
    rows: tuple[PublishedRow, ...] = ()

    def __post_init__(self) -> None:
        choose(METRICS, self.metric, "metric")

    @property
    def higher_is_better(self) -> bool:
        return METRICS[self.metric]

    def row(self, name: str) -> PublishedRow:
        """A row by its name, or an error that says which name is near."""
        return choose({row.name: row for row in self.rows}, name, f"row of {self.name}")


Tables = dict[str, PublishedTable]


def read_tables(folder: Path | None = None, files: Iterable[str] = ()) -> Tables:
    """All tables by their names, in the order of their places; those of the package by default.

    `files`: TOML files with further tables.
    """
    paths = [*sorted((folder or FOLDER).glob("*.toml")), *map(Path, files)]
    tables = [_read_table(path) for path in paths]
    found: Tables = {}
    for table in sorted(tables, key=lambda table: table.place):
        if table.name in found:
            raise InputError(f"{table.name}.toml: a table has that name already; rename the file")
        found[table.name] = table
    for table in found.values():
        for row in table.rows:
            for reference in all_references(row):
                resolve(found, table, reference)
    return found


def named_tables(names: Sequence[str]) -> tuple[Tables, list[PublishedTable]]:
    """All tables, and those with these names; a name may also be a TOML file of your own."""
    files = [name for name in names if name.endswith(".toml")]
    known = read_tables(files=files)
    stems = [Path(name).stem if name in files else name for name in names]
    return known, [choose(known, name, "table") for name in stems]


def _read_table(path: Path) -> PublishedTable:
    tree = read_toml(path)
    rows = tree.pop("rows", {})
    where = f"{path.name}: rows"
    if not isinstance(rows, dict):
        raise InputError(f"{where}: write each as [rows.NAME]")
    try:
        built = tuple(
            build(PublishedRow, {"name": name, **row}, name) for name, row in rows.items()
        )
        return build(PublishedTable, {"name": path.stem, **tree, "rows": built}, path.stem)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def references(adapter: str) -> list[str]:
    """The rows whose runs an adapter is made of: "kn5" of "mix:run={kn5}"."""
    return _REFERENCE.findall(adapter)


def all_references(row: PublishedRow) -> list[str]:
    """The rows whose runs a row needs besides its own."""
    found = [name for adapter in row.adapters for name in references(adapter)]
    return [row.starts_from, *found] if row.starts_from else found


def resolve(
    tables: Tables, table: PublishedTable, reference: str
) -> tuple[PublishedTable, PublishedRow]:
    """The table and row that `row` or `table/row` names, seen from a table."""
    other, slash, name = reference.partition("/")
    home = choose(tables, other, "table") if slash else table
    row = home.row(name if slash else other)
    if not row.recipe:
        raise InputError(f"{table.name}: {{{reference}}} has no recipe, so it has no run")
    if home.data != table.data:
        raise InputError(f"{table.name}: {{{reference}}} is trained on another text")
    return home, row


def fill_in(adapter: str, run_of: dict[str, str]) -> str:
    """An adapter with every {row} replaced by the folder of its run."""
    return _REFERENCE.sub(lambda match: run_of[match.group(1)], adapter)
