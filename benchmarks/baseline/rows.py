"""Results of a benchmark: rows in a JSON file, and the table that it writes into docs/results.md.

The table is between the marks `<!-- benchmarks/NAME.py: begin -->` and `… end -->`. Called by the
benchmarks that measure row by row.
"""

import json
import sys
from pathlib import Path

from elman.atomic import replacing

PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def load_rows(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def keep(path, row):
    """Add a row to the file, to which another process may have added some."""
    rows = [*load_rows(path), row]
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    with replacing(path) as file:
        file.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def write_table(script, text):
    """Replace the part of the page that belongs to a script of this folder."""
    begin, end = (f"<!-- benchmarks/{script}.py: {which} -->" for which in ("begin", "end"))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{PAGE}: has no marks {begin} and {end}")
    with replacing(PAGE) as file:
        file.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
