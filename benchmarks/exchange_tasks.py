"""Exported runs of tasks beside elman: do they agree?

    python benchmarks/exchange_tasks.py [FOLDER [MODEL …]]

Trains small models with the default features of their recipes on drawn data, exports each in every
format, and prints the largest difference: of a probability for classifiers and taggers, of a log
probability for answers, of a number for ELMo's layers; for translation the number of sources whose
greedy output is the same.
"""

import json
import sys
import tempfile
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers

import elman
from elman.batches.featured import IndexedMatches
from elman.text.splitting import split_raw

TEXTS, SOURCES = 100, 100
FEW = ["training.epochs=1", "training.min_steps=10", "training.min_batches=1"]
NOUNS, VERBS = ("Ann", "Bobson", "the cat", "a film", "Zoë"), ("sees", "hears", "isn't", "likes")
TYPED = ["It's a film, isn't it?", "Nobody knows 漢字 or Zoë’s cat!", "cat " * 250, "x" * 80]


def drawn_texts(count: int, seed: int) -> list[str]:
    drawn = np.random.default_rng(seed)
    return [
        " ".join(
            f"{drawn.choice(NOUNS)} {drawn.choice(VERBS)} {drawn.choice(NOUNS)} ."
            for _ in range(drawn.integers(1, 5))
        )
        for _ in range(count)
    ]


def write_labelled(folder: Path) -> None:
    for seed, split in enumerate(("train", "valid")):
        lines = [f"{text}\t{'cat' in text}\n" for text in drawn_texts(150, seed)]
        (folder / f"{split}.tsv").write_text("".join(lines))


def write_tagged(folder: Path) -> None:
    for seed, split in enumerate(("train", "valid")):
        blocks = [
            "\n".join(f"{word} {'B-PER' if word[0].isupper() else 'O'}" for word in text.split())
            for text in drawn_texts(150, seed)
        ]
        (folder / f"{split}.txt").write_text("\n\n".join(blocks) + "\n")


def write_lines(folder: Path) -> None:
    for seed, split in enumerate(("train", "valid")):
        (folder / f"{split}.txt").write_text("\n".join(drawn_texts(150, seed)) + "\n")


def write_questions(folder: Path) -> None:
    for split in ("train", "valid"):
        asked = [
            {"id": f"{split}{n}", "question": f"Who {verb} the cat?", "answers": [answer]}
            for n, verb in enumerate(VERBS)
            for answer in [{"text": "Ann", "answer_start": 0}]
        ]
        paragraphs = [{"context": f"Ann {text}", "qas": asked} for text in drawn_texts(20, 3)]
        data = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
        (folder / f"{split}.json").write_text(json.dumps(data))


def probabilities(run: Any, texts: list[str]) -> list[np.ndarray]:
    """Of the labels of texts, or of the tags of their words."""
    if hasattr(run, "classify"):
        return [
            np.array([found.probabilities[name] for name in run.task.labels])
            for found in run.classify(texts)
        ]
    names = list(dict.fromkeys(map(run.as_marginal, run.task.tags)))
    return [
        np.array([[word[name] for name in names] for word in rows])
        for rows in run.probabilities([run.split_text(text) for text in texts])
    ]


def of_labels(run: Any, folder: Path) -> None:
    texts = [*drawn_texts(TEXTS, 9), *TYPED]
    kind = "Sequence" if hasattr(run, "classify") else "Token"
    automatic = getattr(transformers, f"AutoModelFor{kind}Classification")
    found = of_folder(automatic, folder / "hub", texts, lambda model: model.logits.softmax(-1))
    expected = probabilities(run, texts)
    print(f"  huggingface {largest(found, expected):.1e}", flush=True)
    for name in ("labels", "labels.int8"):
        found = [np.exp(row) for row in of_graph(folder / "onnx", name, texts)]
        print(f"  {name}.onnx {largest(found, expected):.1e}", flush=True)


def of_layers(run: Any, folder: Path) -> None:
    texts = [*drawn_texts(TEXTS, 9), *TYPED]
    expected = [np.swapaxes(one, 0, 1) for one in run.layers([text.split() for text in texts])]
    found = of_folder(
        transformers.AutoModel,
        folder / "hub",
        texts,
        lambda model: torch.stack(model.hidden_states, dim=2),
    )
    print(f"  huggingface {largest(found, expected):.1e}", flush=True)
    for name in ("vectors", "vectors.int8"):
        graphs = of_graph(folder / "onnx", name, texts)
        found = [np.swapaxes(one, 0, 1) for one in graphs]
        print(f"  {name}.onnx {largest(found, expected):.1e}", flush=True)


def of_folder(automatic: Any, folder: Path, texts: list[str], take: Any) -> list[np.ndarray]:
    """What a model of transformers gives for texts, in batches of 64."""
    trust: dict[str, Any] = {"trust_remote_code": True}
    model = automatic.from_pretrained(folder, **trust).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **trust)
    found = []
    for first in range(0, len(texts), 64):
        batch = tokenizer(texts[first : first + 64], return_tensors="pt", padding=True)
        with torch.inference_mode():
            rows = take(model(**batch))
        per_word = rows.dim() > 2
        found += [
            (row[mask.bool()] if per_word else row).numpy()
            for row, mask in zip(rows, batch.attention_mask, strict=True)
        ]
    return found


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def reader_of(folder: Path) -> Any:
    spec = spec_from_file_location("words", folder / "words.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WordReader.open(folder)


def of_graph(folder: Path, name: str, texts: list[str]) -> list[np.ndarray]:
    """What a graph gives for texts, in batches of 64, without padding."""
    graph, reader, found = session(folder / f"{name}.onnx"), reader_of(folder), []
    for first in range(0, len(texts), 64):
        inputs = reader.batch(texts[first : first + 64])
        given = {value.name: inputs[value.name] for value in graph.get_inputs()}
        (rows,) = graph.run(None, given)
        for row, length in zip(rows, inputs["lengths"], strict=True):
            found.append(row if row.ndim == 1 else row[..., :length, :])
    return found


def of_answers(run: Any, folder: Path) -> None:
    questions = [f"Who {verb} a film?" for verb in VERBS] * 10
    passages = drawn_texts(len(questions), 5)
    asked, read = [*map(split_raw, questions)], [*map(split_raw, passages)]
    rows = np.arange(len(asked))
    matched = IndexedMatches(run.task.index(read), read, asked).batch(rows)
    with torch.inference_mode():
        expected = run.model.eval().score(run.task.index(asked).batch(rows), matched)
    inputs = reader_of(folder / "onnx").answers(questions, passages)
    real = matched.real().numpy()
    for name in ("answers", "answers.int8"):
        graph = session(folder / "onnx" / f"{name}.onnx")
        found = graph.run(None, {value.name: inputs[value.name] for value in graph.get_inputs()})
        apart = [np.abs(a - b.numpy())[real].max() for a, b in zip(found, expected, strict=True)]
        print(f"  {name}.onnx {max(apart):.1e}", flush=True)


def of_translations(run: Any, folder: Path) -> None:
    drawn = np.random.default_rng(1)
    tokens = [token for token in run.task.source.tokenizer.tokens if token[0] not in "<\n"]
    sources = [" ".join(drawn.choice(tokens, drawn.integers(1, 12))) for _ in range(SOURCES)]
    encoded = [source.numbers for source in run.task.encode_sources(sources)]
    limits = [run._limit(len(source)) for source in encoded]
    end = run.task.target.tokenizer.eos_id
    found = run.search(sources, beam=1)
    wanted = [[number for number in best[0].ids if number != end] for best in found]
    for kind in ("", ".int8"):
        graphs = [session(folder / "onnx" / f"{name}{kind}.onnx") for name in ("encode", "step")]
        written = greedy(graphs, encoded, limits, run)
        same = sum(a == b for a, b in zip(written, wanted, strict=True))
        print(f"  encode{kind}.onnx, step{kind}.onnx: {same} of {SOURCES} the same", flush=True)


def greedy(graphs: Any, sources: list[np.ndarray], limits: list[int], run: Any) -> list[list[int]]:
    encode, step = graphs
    end, target = run.task.source.tokenizer.eos_id, run.task.target.tokenizer
    lengths = np.array([len(source) + 1 for source in sources])
    padded = np.full((len(sources), lengths.max()), end, dtype=np.int64)
    for row, source in zip(padded, sources, strict=True):
        row[: len(source)] = source
    names = [value.name for value in encode.get_outputs()]
    found = encode.run(None, {"source": padded, "lengths": lengths})
    kept = dict(zip(names, found, strict=True))
    kept["real"] = np.arange(padded.shape[1]) < lengths[:, None]
    given = [value.name for value in step.get_inputs() if value.name != "ids"]
    states = [name for name in names if name.startswith("state_")]
    ids, written = np.full(len(sources), target.eos_id), np.zeros((len(sources), 0), dtype=int)
    for _ in range(max(limits)):
        log_probs, *after = step.run(None, {"ids": ids, **{name: kept[name] for name in given}})
        kept |= dict(zip(states, after, strict=False))
        if target.unknown_id is not None:
            log_probs[:, target.unknown_id] = -np.inf
        ids = log_probs.argmax(1)
        written = np.concatenate([written, ids[:, None]], axis=1)
    cut = []
    for row, limit in zip(written.tolist(), limits, strict=True):
        end_at = row.index(target.eos_id) if target.eos_id in row else limit
        cut.append(row[: min(end_at, limit)])
    return cut


def largest(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True))


RUNS: dict[str, Any] = {
    "classifier": (write_labelled, "classifier", FEW, of_labels),
    "tagger": (write_tagged, "tagger", FEW, of_labels),
    "elmo-small": (write_lines, "elmo-small", [*FEW, "text.min_count=1"], of_layers),
    "answerer": (write_questions, "answerer", FEW, of_answers),
    "reverse": (None, "reverse", ["training.epochs=0.3"], of_translations),
}


def main() -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    place = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())
    for name in sys.argv[2:] or RUNS:
        write, recipe, settings, compare = RUNS[name]
        folder = place / name
        data = "reverse:lines=2000,longest=8,symbols=12"
        if write is not None:
            data = str(folder / "data")
            (folder / "data").mkdir(parents=True, exist_ok=True)
            write(folder / "data")
        if not (folder / "run").exists():
            folder.mkdir(parents=True, exist_ok=True)
            elman.train(recipe, data=data, out=folder / "run", overrides=settings)
        run = elman.load(folder / "run")
        print(name, flush=True)
        if name in ("classifier", "tagger", "elmo-small"):
            run.export(folder / "hub", "huggingface", overwrite=True)
        run.export(folder / "onnx", "onnx", overwrite=True)
        compare(run, folder)


if __name__ == "__main__":
    main()
