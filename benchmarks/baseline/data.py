"""The corpora of `benchmarks/baselines.py`: read, sampled, and written as elman reads them."""

import gzip
import random
from collections import Counter

ALL = 0  # this size means all examples


def read(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def blocks(text):
    """Sentences in columns, separated by blank lines."""
    found = "\n".join(line.rstrip() for line in text.split("\n")).split("\n\n")
    return [block.strip("\n") for block in found if block.strip()]


def chosen(examples, size, sample=0):
    """A random sample of this size; its number gives the same examples every time."""
    return examples if size == ALL else random.Random(sample).sample(examples, size)


def remaining(examples, part):
    """The examples that a sample lacks, as often as it lacks them."""
    return [*(Counter(examples) - Counter(part)).elements()]


def sst(data, labels):
    """Sentences with their labels: `binary` is SST-2, `fine` SST-5."""
    splits = {"train": "train", "valid": "dev", "test": "test"}
    return {
        split: [
            "\t".join(line.split(" ", 1)[::-1])
            for line in read(data / "sst" / f"stsa.{labels}.{name}").splitlines()
        ]
        for split, name in splits.items()
    }


def sst2(data):
    return sst(data, "binary")


def sst5(data):
    return sst(data, "fine")


def names(data):
    """Surnames and their languages, each once; a random tenth for validation and for test each."""
    files = sorted((data / "names" / "names").glob("*.txt"))
    lines = [(name.strip(), file.stem) for file in files for name in read(file).splitlines()]
    every = ["\t".join(line) for line in dict.fromkeys(lines) if line[0]]
    random.Random(1).shuffle(every)
    cut = len(every) // 10
    return {"train": every[2 * cut :], "valid": every[:cut], "test": every[cut : 2 * cut]}


def ewt(data):
    names = {"train": "train.conllu.gz", "valid": "dev.conllu", "test": "test.conllu"}
    folder = data / "ud-english-ewt"
    return {split: blocks(read(folder / f"en_ewt-ud-{name}")) for split, name in names.items()}


def conll2000(data):
    """Without a validation file, a random tenth of the training sentences is held out."""
    every = blocks(read(data / "conll2000" / "train.txt"))
    random.Random(1).shuffle(every)
    cut = len(every) // 10
    test = blocks(read(data / "conll2000" / "test.txt"))
    return {"train": every[cut:], "valid": every[:cut], "test": test}


def wnut17(data):
    names = {"train": "wnut17train.conll", "valid": "emerging.dev.conll"}
    names["test"] = "emerging.test.annotated"
    return {split: blocks(read(data / "wnut17" / name)) for split, name in names.items()}


def multi30k(data):
    names = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
    found = {}
    for split, name in names.items():
        sides = [
            read(data / "multi30k" / "tok" / f"{name}.lc.norm.tok.{side}.gz").splitlines()
            for side in ("en", "de")
        ]
        found[split] = [*zip(*sides, strict=True)]
    return found


def write(folder, splits, ending):
    """Write the splits as files that elman reads."""
    for split, examples in splits.items():
        if ending == "pairs":
            for side, language in enumerate(("en", "de")):
                lines = "".join(f"{pair[side]}\n" for pair in examples)
                (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
        else:
            between = "\n" if ending == "tsv" else "\n\n"
            text = between.join(examples) + between
            (folder / f"{split}.{ending}").write_text(text, encoding="utf-8")
