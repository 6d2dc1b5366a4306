"""elman's defaults against simple baselines on small and large data, in one run.

    python benchmarks/baselines.py DATA [--only sst2 ewt …] [--sizes 500 2000] [--systems elman …]
                                        [--out results.json] [--split test] [--seeds 0 1 2]
                                        [--set section.field=value …]

DATA is a folder with `sst`, `ud-english-ewt`, `conll2000`, `wnut17` and `multi30k`. Every system
learns from the same random examples of the training text and may use the whole validation text.
Results are kept row by row in the JSON file; a row that is there is not measured again, so that
the command goes on where it was stopped. At the end a Markdown table is printed. To choose
settings, measure with `--split valid --set …`; the test text is for the final table.

Needs `pip install 'elman[oracles]'`. One thread.
"""

import argparse
import gzip
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

import elman
from elman.atomic import replacing
from elman.tasks.tagging.measures import measure_tagging
from elman.training.machine import Machine

ALL = 0  # the size that stands for all examples
PRESENT = (  # the translator as version 0.1 had it
    *("text.vocabulary_size=5000", "model.hidden_size=256", "model.embedding_size=256"),
    *("model.dropout_input=0.3", "model.dropout_output=0.5"),
    *("training.epochs=12", "training.batch_size=64", "training.learning_rate=0.001"),
    *("training.schedule=linear", "training.warm_up=0.02", "training.patience=0"),
    "training.validate_every=1",
)


# Data -------------------------------------------------------------------------------------------


def read(path):
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def blocks(text):
    """Sentences in columns: what blank lines part."""
    found = "\n".join(line.rstrip() for line in text.split("\n")).split("\n\n")
    return [block.strip("\n") for block in found if block.strip()]


def chosen(examples, size):
    """A random part of so many examples, always the same one."""
    return examples if size == ALL else random.Random(0).sample(examples, size)


def sst2(data):
    splits = {"train": "train", "valid": "dev", "test": "test"}
    return {
        split: [
            "\t".join(line.split(" ", 1)[::-1])
            for line in read(data / "sst" / f"stsa.binary.{name}").splitlines()
        ]
        for split, name in splits.items()
    }


def ewt(data):
    names = {"train": "train.conllu.gz", "valid": "dev.conllu", "test": "test.conllu"}
    folder = data / "ud-english-ewt"
    return {split: blocks(read(folder / f"en_ewt-ud-{name}")) for split, name in names.items()}


def conll2000(data):
    """There is no validation text: a tenth of the training text, drawn at random, is one."""
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
    """Files of the splits, as elman reads them."""
    for split, examples in splits.items():
        if ending == "pairs":
            for side, language in enumerate(("en", "de")):
                lines = "".join(f"{pair[side]}\n" for pair in examples)
                (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
        else:
            between = "\n" if ending == "tsv" else "\n\n"
            text = between.join(examples) + between
            (folder / f"{split}.{ending}").write_text(text, encoding="utf-8")


# Systems ----------------------------------------------------------------------------------------


def train_elman(recipe, splits, ending, judged, seed, settings):
    """Train with the recipe's own settings, unless others are given; what `evaluate` measures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        folder.mkdir()
        write(folder, splits, ending)
        trained = elman.train(
            recipe,
            data=str(folder),
            out=Path(place) / "run",
            overrides=settings,
            seed=seed,
            machine=Machine(threads=1, warn=lambda message: None),
        )
        training = trained.facts["training"]
        best = trained.facts["validation"]
        facts = {name: training[name] for name in ("epochs", "of_epochs", "steps", "batch_size")}
        facts |= {"ended_early": training["ended_early"], "improving": training["improving"]}
        facts["validation"] = {name: value for name, value in best.items() if name != "tokens"}
        if ending in ("conllu", "txt"):
            beside = recipe == "chunker"

            def tag(sentences, parts):
                rows = zip(sentences, parts, strict=True)
                both = [[*zip(*row, strict=True)] if beside else row[0] for row in rows]
                return trained.tag(both)

            return {**tagging(tag, splits, judged, ending), **facts}
        measured = trained.evaluate(str(folder), split=judged)
        return {
            "value": 100 * measured.main()[1] if ending == "tsv" else measured.main()[1]
        } | facts


def columns(block, ending):
    """Words, parts of speech and tags of a sentence."""
    rows = [row.split("\t") if "\t" in row else row.split(" ") for row in block.split("\n")]
    if ending == "conllu":
        rows = [row for row in rows if row[0].isdigit()]
        return [row[1] for row in rows], [row[3] for row in rows], [row[3] for row in rows]
    return [row[0] for row in rows], [row[1] for row in rows], [row[-1] for row in rows]


def tagging(tag, splits, judged, ending):
    """Accuracy of tags, or F1 of spans; and of words that the training text does not have."""
    known = {word for block in splits["train"] for word in columns(block, ending)[0]}
    found = [columns(block, ending) for block in splits[judged]]
    words, parts, right = zip(*found, strict=True)
    guessed = tag(words, parts)
    unknown = [word not in known for sentence in words for word in sentence]
    tags = {one for sentence in right for one in sentence}
    measured = measure_tagging(right, guessed, unknown=unknown, known_tags=tags)
    return {"value": 100 * measured.main()[1], "unknown": 100 * (measured.unknown_accuracy or 0)}


def linear(splits, judged):
    """tf-idf and a linear support vector machine; features and C by accuracy on validation."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    parts = {
        split: [*zip(*[line.rsplit("\t", 1) for line in lines], strict=True)]
        for split, lines in splits.items()
    }
    features = {
        "words": {"token_pattern": r"\S+"},
        "bigrams": {"token_pattern": r"\S+", "ngram_range": (1, 2)},
        "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    }
    best = (-1.0, None, "")
    for name, options in features.items():
        for cost in (0.1, 0.3, 1.0, 3.0):
            vectors = TfidfVectorizer(sublinear_tf=True, **options)
            model = make_pipeline(vectors, LinearSVC(C=cost)).fit(*parts["train"])
            score = model.score(*parts["valid"])
            if score > best[0]:
                best = (score, model, f"{name}, C={cost:g}")
    return {"value": 100 * best[1].score(*parts[judged]), "chosen": best[2]}


def perceptron(splits, judged):
    """nltk's averaged perceptron, five iterations as its default."""
    from nltk.tag.perceptron import PerceptronTagger

    random.seed(0)  # it shuffles
    tagger = PerceptronTagger(load=False)
    train = [columns(block, "conllu") for block in splits["train"]]
    tagger.train([[*zip(words, tags, strict=True)] for words, _, tags in train])

    def tag(sentences, parts):
        return [[tag for _, tag in tagger.tag(sentence)] for sentence in sentences]

    return tagging(tag, splits, judged, "conllu")


def crf(splits, judged, pos):
    """A conditional random field with features of the word, its affixes, its shape and four
    neighbours; c1 and c2 by validation. With `pos`, parts of speech too.
    """
    import pycrfsuite

    train = [columns(block, "txt") for block in splits["train"]]
    features = [crf_features(words, tags if pos else None) for words, tags, _ in train]
    best = (-1.0, {})
    with tempfile.TemporaryDirectory() as place:
        for c1, c2 in ((0.1, 0.1), (0.0, 1.0), (0.5, 0.01)):
            trainer = pycrfsuite.Trainer(verbose=False)
            for row, (_, _, tags) in zip(features, train, strict=True):
                trainer.append(row, tags)
            trainer.set_params({"c1": c1, "c2": c2, "max_iterations": 100})
            trainer.set_params({"feature.possible_transitions": True})
            file = str(Path(place) / "model")
            trainer.train(file)
            tagger = pycrfsuite.Tagger()
            tagger.open(file)
            found = {split: crf_measure(tagger, splits, split, pos) for split in ("valid", judged)}
            tagger.close()
            if found["valid"]["value"] > best[0]:
                best = found["valid"]["value"], found[judged] | {"chosen": f"c1={c1:g}, c2={c2:g}"}
    return best[1]


def crf_measure(tagger, splits, judged, pos):
    def tag(sentences, parts):
        rows = zip(sentences, parts, strict=True)
        return [tagger.tag(crf_features(words, some if pos else None)) for words, some in rows]

    return tagging(tag, splits, judged, "txt")


def crf_features(words, parts):
    """Features of every word of a sentence, as strings."""
    rows = []
    for place, word in enumerate(words):
        row = ["bias", f"suffix3={word[-3:]}", f"suffix2={word[-2:]}", f"prefix3={word[:3]}"]
        row += [
            f"prefix2={word[:2]}",
            f"hyphen={'-' in word}",
            f"digit={any(map(str.isdigit, word))}",
        ]
        for offset in range(-2, 3):
            at = place + offset
            if not 0 <= at < len(words):
                row.append(f"{offset}:edge")
                continue
            near = words[at]
            row += [f"{offset}:word={near.lower()}", f"{offset}:title={near.istitle()}"]
            row += [f"{offset}:upper={near.isupper()}", f"{offset}:number={near.isdigit()}"]
            if parts:
                row.append(f"{offset}:pos={parts[at]}")
        for left in (-1, 0):
            if 0 <= place + left < len(words) - 1:
                pair = words[place + left : place + left + 2]
                row.append(f"{left}:pair={' '.join(pair).lower()}")
                if parts:
                    row.append(f"{left}:parts={parts[place + left]} {parts[place + left + 1]}")
        rows.append(row)
    return rows


# One table --------------------------------------------------------------------------------------

# Name: reader, ending of the files, sizes, recipe, name and function of the baseline, measure.
TASKS = {
    "sst2": (sst2, "tsv", (500, 2000, ALL), "classifier", "tf-idf + SVM", linear, "accuracy"),
    "ewt": (ewt, "conllu", (200, 1000, ALL), "tagger", "perceptron", perceptron, "accuracy"),
    "conll2000": (
        *(conll2000, "txt", (500, ALL), "tagger", "CRF"),
        *(lambda splits, judged: crf(splits, judged, False), "F1"),
    ),
    "conll2000+pos": (
        *(conll2000, "txt", (500, ALL), "chunker", "CRF"),
        *(lambda splits, judged: crf(splits, judged, True), "F1"),
    ),
    "wnut17": (
        *(wnut17, "txt", (500, ALL), "tagger", "CRF"),
        *(lambda splits, judged: crf(splits, judged, False), "F1"),
    ),
    "multi30k": (
        *(multi30k, "pairs", (2000, 10000, ALL), "translator", "translator of 0.1"),
        *(None, "BLEU"),
    ),
}


def measure(task, size, system, splits, judged, seed, settings):
    """A row: what a system comes to."""
    _, ending, _, recipe, name, baseline, _ = TASKS[task]
    started, clock = time.process_time(), time.perf_counter()
    if system == "elman":
        found = train_elman(recipe, splits, ending, judged, seed, settings)
    elif baseline is None:
        found = train_elman(recipe, splits, ending, judged, seed, [*PRESENT, *settings])
    else:
        found = baseline(splits, judged)
    return {
        **key(task, size, system, judged, seed, settings),
        "name": recipe if system == "elman" else name,
        **found,
        "cpu_seconds": round(time.process_time() - started, 1),
        "seconds": round(time.perf_counter() - clock, 1),
    }


def key(task, size, system, judged, seed, settings):
    """What makes a row another one; baselines have neither seeds nor settings."""
    own = system == "elman" or TASKS[task][5] is None
    return {
        "task": task,
        "size": "all" if size == ALL else size,
        "system": system,
        "split": judged,
        "seed": seed if own else 0,
        "settings": [*settings] if own else [],
    }


def load_rows(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def keep(path, row):
    """Add a row to the file, which others may have added to meanwhile."""
    rows = [*load_rows(path), row]
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    with replacing(path) as file:
        file.write_text(f"[\n{text}\n]\n", encoding="utf-8")


def is_row(row, wanted):
    return all(row[name] == value for name, value in wanted.items())


def table(rows):
    """Markdown: a line for each task and size, the mean over the seeds."""
    lines = ["| data | examples | measure | baseline | | elman | | difference |"]
    lines.append("|---|---:|---|---|---:|---|---:|---:|")
    for task, (*_, measured) in TASKS.items():
        for size in dict.fromkeys(row["size"] for row in rows if row["task"] == task):
            mine = [row for row in rows if (row["task"], row["size"]) == (task, size)]
            for name in ("value", "unknown"):
                sides = {
                    system: [r[name] for r in mine if r["system"] == system and name in r]
                    for system in ("baseline", "elman")
                }
                if not all(sides.values()) or (name == "unknown" and measured != "accuracy"):
                    continue
                first, second = (statistics.fmean(sides[side]) for side in sides)
                names = [next(r for r in mine if r["system"] == s)["name"] for s in sides]
                what = measured if name == "value" else "accuracy of unknown words"
                lines.append(
                    f"| {task} | {size} | {what} | {names[0]} | {first:.2f} | `{names[1]}` | "
                    f"{second:.2f} | {second - first:+.2f} |"
                )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", default=[*TASKS], choices=[*TASKS])
    parser.add_argument("--sizes", nargs="*", help="like 500 2000 all; default: those of a task")
    parser.add_argument("--systems", nargs="*", default=["baseline", "elman"])
    parser.add_argument("--out", type=Path, default=Path("baselines.json"))
    parser.add_argument("--split", default="test", choices=("valid", "test"))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--set", nargs="*", default=[], metavar="section.field=value")
    given = parser.parse_args()
    torch.set_num_threads(1)
    os.nice(max(0, 10 - os.nice(0)))
    for task in given.only:
        splits = TASKS[task][0](given.data)
        sizes = TASKS[task][2]
        if given.sizes:
            sizes = [ALL if size == "all" else int(size) for size in given.sizes]
        for size in sizes:
            part = splits | {"train": chosen(splits["train"], size)}
            for system in given.systems:
                for seed in given.seeds:
                    wanted = key(task, size, system, given.split, seed, given.set)
                    if any(is_row(row, wanted) for row in load_rows(given.out)):
                        continue
                    row = measure(task, size, system, part, given.split, seed, given.set)
                    keep(given.out, row)
                    print(json.dumps(row, ensure_ascii=False), file=sys.stderr, flush=True)
    kept = [row for row in load_rows(given.out) if row["split"] == given.split]
    print(table([row for row in kept if row["settings"] in ([], given.set)]))


if __name__ == "__main__":
    main()
