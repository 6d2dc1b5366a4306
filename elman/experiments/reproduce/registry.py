"""Tables of published figures as data: one TOML file per table, checked when it is read.

Each table is a `PublishedTable`. A row contains the published figure and how to obtain it here: a
recipe with settings and adapters, an experiment of ours, or, for a row that is only quoted, the
reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elman.config import build, read_toml
from elman.errors import InputError, choose

FOLDER = Path(__file__).parent / "tables"
METRICS = {  # whether higher is better
    "perplexity": False,
    "nats": False,
    "accuracy": True,
    "F1": True,
    "BLEU": True,
    "exact match": True,
    "score": True,
}
PERPLEXITIES = ("perplexity", "nats")  # metrics of language models; others are those of their task
_REFERENCE = re.compile(r"\{([^{}]+)\}")


@dataclass(kw_only=True)
class PublishedRow:
    """One row of a table, and how to obtain it here."""

    name: str = ""
    about: str = ""  # the model in words
    published: float | None = None  # None: not published
    valid: float | None = None  # the published figure for the validation text
    spread: float | None = None  # the published ±
    also: dict[str, float] | None = None  # further figures of the row, only quoted
    parameters: str = ""  # as published
    source: str = ""  # the publication, if it differs from that of the table
    recipe: str = ""
    settings: tuple[str, ...] = ()  # section.field=value, as for --set
    adapters: tuple[str, ...] = ()  # as for --with; {row} or {table/row} is that row's run
    split: str = "test"
    experiment: str = ""  # a name in EXPERIMENTS
    task: str = ""  # for experiments
    cell: str = ""  # for experiments
    starts_from: str = ""  # row or table/row: start from the weights of that run
    seeds: int = 1  # number of trainings with different seeds; the verdict is about their mean
    ours: bool = False  # our own recipe instead of the published settings: shown, not judged
    order: str = ""  # judge the order of all rows with the same value here, not the figure
    value: float | None = None  # of a result, for the order of the queue; None: that of the table
    tolerance: float = 0.005  # relative difference up to which a figure counts as reproduced
    quoted: str = ""  # why it cannot be run
    teraflop: float | None = None  # for quoted rows: the cost computed from published sizes
    cost: str = ""  # for quoted rows: how the cost was computed, or why there is none
    note: str = ""  # differences from the publication and other remarks

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
            raise InputError(f"row {self.name!r}: an experiment needs published, task and cell")
        if not 0 < self.tolerance < 1:
            raise InputError(
                f"row {self.name!r}: tolerance={self.tolerance} must be between 0 and 1"
            )
        if self.seeds < 1:
            raise InputError(f"row {self.name!r}: seeds={self.seeds} must be at least 1")
        if self.value is not None and not self.value >= 0:
            raise InputError(f"row {self.name!r}: value={self.value} must not be negative")
        if self.quoted and not self.cost:
            raise InputError(
                f"row {self.name!r}: a quoted row needs `cost`: the cost, or why there is none"
            )
        if self.experiment:
            self.order = self.order or self.task

    @property
    def trial(self) -> str:
        """The name of an experiment, such as "ablation arithmetic gru"; empty for other rows."""
        return f"{self.experiment} {self.task} {self.cell}".strip()


@dataclass(kw_only=True)
class PublishedTable:
    """A table of figures with the same metric."""

    name: str
    title: str
    source: str  # the publication
    metric: str
    place: int = 0  # position among the tables
    deck: str = ""  # the lecture that shows it
    data: str = ""  # the dataset: the name of its folder
    sha256: str = ""  # hash of its test text; empty: any text
    tokens: int = 0  # published size of the training text, to compute costs without the dataset
    vocabulary: int = 0  # published vocabulary size, for the same purpose
    value: float = 1.0  # of a result of one row, for the order of the queue
    note: str = ""
    rows: tuple[PublishedRow, ...] = ()

    def __post_init__(self) -> None:
        choose(METRICS, self.metric, "metric")

    @property
    def higher_is_better(self) -> bool:
        return METRICS[self.metric]

    def row(self, name: str) -> PublishedRow:
        """A row by its name, or an error that suggests the nearest name."""
        return choose({row.name: row for row in self.rows}, name, f"row of {self.name}")


Tables = dict[str, PublishedTable]


def read_tables(folder: Path | None = None, files: Iterable[str] = ()) -> Tables:
    """All tables by name, in the order of their `place`. Default: those of the package.

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
    """The rows whose runs an adapter uses: "kn5" in "mix:run={kn5}"."""
    return _REFERENCE.findall(adapter)


def all_references(row: PublishedRow) -> list[str]:
    """The other rows whose runs a row needs."""
    found = [name for adapter in row.adapters for name in references(adapter)]
    return [row.starts_from, *found] if row.starts_from else found


def resolve(
    tables: Tables, table: PublishedTable, reference: str
) -> tuple[PublishedTable, PublishedRow]:
    """The table and row of a reference `row` (in the same table) or `table/row`."""
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
