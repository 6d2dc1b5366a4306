"""Exported runs beside elman: do they agree, and how fast is onnxruntime?

    python benchmarks/exchange.py [FOLDER]

Trains small models on the built-in grammar, exports each in every format, and prints the largest
difference of a log probability (of a whole line for `nll.onnx`) on random ids, then the time of one
step in elman and in onnxruntime, by turns in one process and with one thread.
"""

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
import transformers

import elman

ROWS, LENGTH, STEPS, ROUNDS = 4, 30, 200, 5
SMALL = ["training.epochs=0.3", "training.min_steps=0"]
RUNS = {
    "recurrent": ("quick", SMALL),
    "feed-forward": ("bengio", SMALL),
    "log-bilinear": ("log-bilinear", SMALL),
    "n-gram": ("ngram", []),
}


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    place = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())
    for name, (recipe, settings) in RUNS.items():
        folder = place / name
        if not (folder / "run").exists():
            folder.mkdir(parents=True, exist_ok=True)
            elman.train(recipe, data="grammar", out=folder / "run", overrides=settings)
        run = elman.load(folder / "run")
        run.export(folder / "hub", "huggingface", overwrite=True)
        print(f"{name}: huggingface {of_transformers(run, folder / 'hub'):.1e}", flush=True)
        if name != "n-gram":
            run.export(folder / "onnx", "onnx", overwrite=True)
            for file in ("step", "step.int8"):
                graph = session(folder / "onnx" / f"{file}.onnx")
                print(f"{name}: {file}.onnx {of_steps(run, graph):.1e}", flush=True)
            for file in ("nll", "nll.int8"):
                graph = session(folder / "onnx" / f"{file}.onnx")
                print(f"{name}: {file}.onnx {of_lines(run, graph):.1e}", flush=True)
            speed(run, folder / "onnx")


def random_ids(run: Any, rows: int, length: int) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(7)
    return torch.randint(1, len(run.tokenizer), (rows, length), generator=drawn)


def expected(run: Any, ids: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return run.model.predict_all(ids, run.model.start(len(ids)))[0]


def of_transformers(run: Any, folder: Path) -> float:
    """The largest difference of a log probability."""
    load = transformers.AutoModelForCausalLM.from_pretrained
    model, ids = load(folder, trust_remote_code=True).eval(), random_ids(run, ROWS, LENGTH)
    with torch.inference_mode():
        given = torch.cat([torch.full((ROWS, 1), run.tokenizer.eos_id), ids], dim=1)
        found = model(given).logits[:, :-1].log_softmax(-1)[..., : len(run.tokenizer)]
    return float((found - expected(run, ids)).abs().max())


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def first_state(graph: Any, rows: int) -> dict[str, np.ndarray]:
    described = json.loads(graph.get_modelmeta().custom_metadata_map["state"])
    kinds = {value.name: value.type for value in graph.get_inputs()}
    return {
        each["name"]: np.full(
            (rows, each["size"]),
            each["value"],
            np.float32 if "float" in kinds[each["name"]] else np.int64,
        )
        for each in described
    }


def of_steps(run: Any, graph: Any) -> float:
    ids = random_ids(run, ROWS, LENGTH)
    state, wanted, worst = first_state(graph, ROWS), expected(run, ids).numpy(), 0.0
    given = np.concatenate([np.full((ROWS, 1), run.tokenizer.eos_id), ids.numpy()], axis=1)
    for t in range(LENGTH):
        found, *after = graph.run(None, {"ids": given[:, t], **state})
        state = dict(zip(state, after, strict=True))
        worst = max(worst, float(np.abs(found - wanted[:, t]).max()))
    return worst


def of_lines(run: Any, graph: Any) -> float:
    ids = random_ids(run, ROWS, LENGTH)
    lengths = torch.tensor([LENGTH, 1, 7, 12])
    (found,) = graph.run(None, {"x": ids.numpy(), "x_lens": lengths.numpy()})
    end, wanted = torch.tensor([run.tokenizer.eos_id]), []
    for row, length in zip(ids, lengths, strict=True):
        line = torch.cat([row[:length], end])[None]
        with torch.inference_mode():
            wanted.append(-float(run.model.score(line, run.model.start(1))[0].sum()))
    return float(np.abs(found - wanted).max())


def speed(run: Any, folder: Path) -> None:
    """CPU milliseconds per step, the best of some rounds taken by turns."""
    graphs = {file: session(folder / f"{file}.onnx") for file in ("step", "step.int8")}
    for rows in (1, 16):
        ids = random_ids(run, rows, STEPS)
        best = dict.fromkeys(["elman", *graphs], float("inf"))
        for _ in range(ROUNDS):
            best["elman"] = min(best["elman"], timed(step_elman, run, ids))
            for file, graph in graphs.items():
                best[file] = min(best[file], timed(step_onnx, graph, ids))
        shown = ", ".join(f"{name} {1000 * taken / STEPS:.3f} ms" for name, taken in best.items())
        print(f"one step of {rows} rows, CPU time: {shown}", flush=True)


def timed(work: Any, *given: Any) -> float:
    start = time.process_time()
    work(*given)
    return time.process_time() - start


def step_elman(run: Any, ids: torch.Tensor) -> None:
    with torch.inference_mode():
        state = run.model.start(len(ids))
        for t in range(STEPS):
            run.model.predict(state)
            state = run.model.read(ids[:, t : t + 1], state)


def step_onnx(graph: Any, ids: torch.Tensor) -> None:
    state, given = first_state(graph, len(ids)), ids.numpy()
    for t in range(STEPS):
        _, *after = graph.run(None, {"ids": given[:, t], **state})
        state = dict(zip(state, after, strict=True))


if __name__ == "__main__":
    main()
