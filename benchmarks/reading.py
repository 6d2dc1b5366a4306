"""Speed and memory of reading large texts: JSON lines, Parquet, compressed shards, plain text.

    python benchmarks/reading.py DATA [--megabytes 1000] [--folder FOLDER] [--tokenizer words]

DATA is a plain text file, such as the training text of WikiText-2; it is repeated until the size
is reached, with the words of each line rotated by one more place every time. The same text is
written as a plain file, JSON lines (Zstandard), Parquet and 100 gzip shards. Each is read by a
process of its own into memory-mapped ids of words. The table shows megabytes of text per second of
processor time and of wall clock, the peak memory of the process, and whether all ids are equal.

Needs `pip install 'elman[data]'`. One thread.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARDS = 100


def write_all(source, folder, megabytes):
    """The same lines in every format."""
    import gzip

    import pyarrow
    import pyarrow.parquet
    import zstandard

    lines = [line.split() for line in source.read_text(encoding="utf-8").split("\n")]
    lines = [words for words in lines if words]
    per_shard = megabytes * 1_000_000 // SHARDS
    (folder / "shards").mkdir()
    schema = pyarrow.schema([("text", pyarrow.string())])
    number = 0
    with (
        (folder / "plain.txt").open("w", encoding="utf-8") as plain,
        (folder / "lines.jsonl.zst").open("wb") as packed,
        zstandard.ZstdCompressor().stream_writer(packed) as records,
        pyarrow.parquet.ParquetWriter(folder / "rows.parquet", schema) as table,
    ):
        for shard in range(SHARDS):
            texts, size = [], 0
            while size < per_shard:
                turn, place = divmod(number, len(lines))
                words = lines[place]
                first = turn % len(words)
                texts.append(" ".join(words[first:] + words[:first]))
                size += len(texts[-1].encode()) + 1
                number += 1
            text = "".join(f"{one}\n" for one in texts)
            plain.write(text)
            rows = "".join(json.dumps({"id": n, "text": one}) + "\n" for n, one in enumerate(texts))
            records.write(rows.encode())
            table.write_table(pyarrow.table({"text": texts}, schema))
            (folder / "shards" / f"part-{shard:03}.txt.gz").write_bytes(
                gzip.compress(text.encode(), 1)
            )
    return (folder / "plain.txt").stat().st_size


def read_one(data, tokenizer, split):
    """Read a text into ids; print what it took."""
    from elman.tasks.language_modelling.id_files import learn_ids
    from elman.text.running_text import open_running_text
    from elman.text.tokenizer import TextConfig

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, clock = time.process_time(), time.perf_counter()
    document = open_running_text(data, split=split).split("train")
    _, ids = learn_ids(document, TextConfig(tokenizer=tokenizer), lambda what: None)
    cpu, wall = time.process_time() - started, time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    digest = hashlib.sha256()
    for start in range(0, len(ids), 1 << 22):
        digest.update(ids[start : start + (1 << 22)].tobytes())
    print(
        json.dumps(
            {
                "cpu": cpu,
                "wall": wall,
                "before": before / 1000,
                "peak": peak / 1000,
                "tokens": len(ids),
                "bytes": document.size,
                "ids": digest.hexdigest(),
            }
        )
    )


def measure(folder, size, tokenizer, split):
    names = {
        "plain text": "plain.txt",
        "JSON lines, Zstandard": "lines.jsonl.zst",
        "Parquet": "rows.parquet",
        f"{SHARDS} gzip shards": "shards",
    }
    print("| format | on disk, MB | MB/s of processor | MB/s | peak memory, MB | tokens | ids |")
    print("|---|---:|---:|---:|---:|---:|---|")
    first = None
    for name, file in names.items():
        place = folder / file
        files = [place] if place.is_file() else [*place.iterdir()]
        stored = sum(one.stat().st_size for one in files)
        cache = folder / "cache"
        environment = os.environ | {"ELMAN_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, str(place), "--read"]
        command += ["--tokenizer", tokenizer, "--split", split]
        found = subprocess.run(command, env=environment, capture_output=True, text=True)
        if found.returncode:
            raise SystemExit(found.stderr)
        row = json.loads(found.stdout)
        shutil.rmtree(cache)
        first = first or row["ids"]
        equal = "equal" if row["ids"] == first else "DIFFERENT"
        print(
            f"| {name} | {stored / 1e6:,.0f} | {size / 1e6 / row['cpu']:.1f} "
            f"| {size / 1e6 / row['wall']:.1f} | {row['peak']:,.0f} "
            f"| {row['tokens']:,} | {equal} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="default: a temporary folder")
    parser.add_argument("--tokenizer", default="words")
    parser.add_argument("--split", default="hash", help="hash, or ordered")
    parser.add_argument("--read", action="store_true", help="read one text and print the figures")
    given = parser.parse_args()
    if given.read:
        read_one(str(given.data), given.tokenizer, given.split)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        size = write_all(given.data, Path(place), given.megabytes)
        measure(Path(place), size, given.tokenizer, given.split)


if __name__ == "__main__":
    main()
