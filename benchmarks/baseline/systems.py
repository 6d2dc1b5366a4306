"""The systems of `benchmarks/baselines.py`: elman, and a simple baseline for each task."""

import hashlib
import json
import random
import tempfile
from pathlib import Path

import elman
from baseline.data import write
from elman.tasks.tagging.measures import measure_tagging
from elman.tasks.task import resume
from elman.training.machine import Machine


def train_elman(recipe, splits, ending, judged, seed, settings, runs=None):
    """Train with the settings of the recipe and the given ones; evaluate on the split `judged`.

    `runs`: a folder that keeps the model; a model that is there is not trained again.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        folder.mkdir()
        unused = {"test": splits["unused"]} if "unused" in splits else {}
        write(folder, {name: splits[name] for name in ("train", "valid", "test")}, ending)
        trained = trained_run(recipe, folder, seed, settings, runs or Path(place))
        training = trained.facts["training"]
        best = trained.facts["validation"]
        facts = {name: training[name] for name in ("epochs", "of_epochs", "steps", "batch_size")}
        facts |= {"ended_early": training["ended_early"], "improving": training["improving"]}
        facts["validation"] = {name: value for name, value in best.items() if name != "tokens"}
        if "accuracy_after" in trained.facts.get("calibration", {}):
            facts["calibration"] = trained.facts["calibration"]
        facts |= {"teraflop": training["teraflop"], "training_seconds": trained.facts["seconds"]}
        if ending in ("conllu", "txt"):
            beside = recipe == "chunker"

            def tag(sentences, parts):
                rows = zip(sentences, parts, strict=True)
                both = [[*zip(*row, strict=True)] if beside else row[0] for row in rows]
                return trained.tag(both)

            return {**tagging(tag, splits, judged, ending), **facts}
        if judged == "unused":
            folder = Path(place) / "unused"
            folder.mkdir()
            write(folder, unused, ending)
        measured = trained.evaluate(str(folder), split="test" if judged == "unused" else judged)
        return {
            "value": 100 * measured.main()[1] if ending == "tsv" else measured.main()[1]
        } | facts


def trained_run(recipe, folder, seed, settings, runs):
    """The run of a recipe on the data of a folder, trained unless `runs` has it already."""
    content = [file.read_bytes() for file in sorted(folder.iterdir()) if "train" in file.name]
    used = json.dumps([recipe, seed, *settings]).encode("utf-8")
    out = runs / f"{recipe}-{hashlib.sha256(b''.join([used, *content])).hexdigest()[:16]}"
    machine = Machine(threads=1, warn=lambda message: None)
    if not out.exists():
        return elman.train(
            recipe, data=str(folder), out=out, overrides=settings, seed=seed, machine=machine
        )
    kept = elman.load(out)
    return (
        kept
        if kept.facts["training"]["finished"]
        else resume(out, data=str(folder), machine=machine)
    )


def columns(block, ending):
    """The words, parts of speech and tags of a sentence."""
    rows = [row.split("\t") if "\t" in row else row.split(" ") for row in block.split("\n")]
    if ending == "conllu":
        rows = [row for row in rows if row[0].isdigit()]
        return [row[1] for row in rows], [row[3] for row in rows], [row[3] for row in rows]
    return [row[0] for row in rows], [row[1] for row in rows], [row[-1] for row in rows]


def tagging(tag, splits, judged, ending):
    """Accuracy of tags or F1 of spans, and the accuracy of words unseen in training."""
    known = {word for block in splits["train"] for word in columns(block, ending)[0]}
    found = [columns(block, ending) for block in splits[judged]]
    words, parts, right = zip(*found, strict=True)
    guessed = tag(words, parts)
    unknown = [word not in known for sentence in words for word in sentence]
    tags = {one for sentence in right for one in sentence}
    measured = measure_tagging(right, guessed, unknown=unknown, known_tags=tags)
    return {"value": 100 * measured.main()[1], "unknown": 100 * (measured.unknown_accuracy or 0)}


def linear(splits, judged):
    """tf-idf and a linear SVM; features and C are chosen by validation accuracy."""
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
    """The averaged perceptron of nltk, with its default of five iterations."""
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
    neighbours; c1 and c2 are chosen by validation. `pos` adds parts of speech.
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
