"""Compare a page of `elman export --to page` with its run, in headless Chromium.

    python benchmarks/page.py RUN --data PENN-TREEBANK-FOLDER

Prints how many of 200 prefixes of the test text have the same five suggestions, the largest
difference of any probability, the time until the page is ready, and the time of a step. The run is
taken with weights of eight bits, as the page has them. Needs playwright and Chromium.
"""

import argparse
import base64
import copy
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import sync_playwright

import elman
from elman.models.weights import pack

_PREFIXES = 200
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
_LOG_PROBS = """text => {
  const bytes = new Uint8Array(Float32Array.from(elman.logProbs(text)).buffer);
  let out = "";
  for (let i = 0; i < bytes.length; i += 8192)
    out += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(out);
}"""
_STEP = "() => { for (let i = 0; i < 50; i++) elman.logProbs(`the company ${i}`); }"


def prefixes(run: elman.TrainedModel, data: str) -> list[str]:
    """Beginnings of random lines of the test text."""
    drawn = random.Random(0)
    lines = [line.split() for line in run.open(data).split("test").text.split("\n")]
    chosen = drawn.sample([line for line in lines if len(line) > 4], _PREFIXES)
    return [" ".join(line[: drawn.randint(1, len(line) - 1)]) for line in chosen]


def rounded(run: elman.TrainedModel) -> elman.TrainedModel:
    """The run with the weights of the page; count models have none."""
    model: Any = run.model
    if not hasattr(model, "load_arrays"):
        return run
    model = copy.deepcopy(model)
    model.load_arrays(pack(model.arrays()))
    return run.around(model, frozenset())


def measure(run: elman.TrainedModel, page: Any, texts: list[str]) -> tuple[int, float]:
    """How many texts have the same suggestions, and the largest difference of a probability."""
    same, worst = 0, 0.0
    for text in texts:
        own = [one.token for one in run.suggest(text)]
        same += own == [one["token"] for one in page.evaluate("t => elman.suggest(t)", text)]
        found = np.frombuffer(base64.b64decode(page.evaluate(_LOG_PROBS, text)), dtype=np.float32)
        ids = torch.from_numpy(run.tokenizer.encode_typed(text))[None]
        with torch.inference_mode():
            right = run.model.predict(run.model.read(ids, run.model.start(1)))[0].exp().numpy()
        worst = max(worst, float(np.abs(right - np.exp(found)).max()))
    return same, worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--data", required=True)
    given = parser.parse_args()
    run = elman.load(given.run, elman.TrainedModel)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "model.html"
        run.export(path, "page")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        page = browser.new_page()
        page.set_default_timeout(120_000)
        loads = []
        for _ in range(5):
            page.goto("about:blank")
            began = time.perf_counter()
            page.goto(f"file://{path}")
            page.wait_for_function("document.documentElement.dataset.ready")
            loads.append(time.perf_counter() - began)
        same, worst = measure(rounded(run), page, prefixes(run, given.data))
        began = time.perf_counter()
        page.evaluate(_STEP)
        step = (time.perf_counter() - began) / 50
        print(f"file: {path.stat().st_size:,} bytes; ready after {min(loads):.2f} s (best of 5)")
        print(f"same five suggestions: {same} of {_PREFIXES}; largest difference {worst:.2g}")
        print(f"a step: {1000 * step:.1f} ms")
        browser.close()


if __name__ == "__main__":
    main()
