"""Compare a page of `elman export --to page` with its run, in headless Chromium.

    python benchmarks/page.py RUN (--data PENN-TREEBANK-FOLDER | --speed)

Prints the size of the file, the time until the first suggestions are drawn, the time of a key and
of a step; then how many of 200 prefixes of the test text have the same five suggestions, and the
largest differences of a probability and of a word's surprisal. The run is taken with weights of
eight bits, as the page has them. Needs playwright and Chromium. With --speed, only the first line.
"""

import argparse
import base64
import copy
import os
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import sync_playwright

import elman
from elman.models.weights import pack

_PREFIXES = 200
_LOADS = 7
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
_LOG_PROBS = """text => {
  const bytes = new Uint8Array(Float32Array.from(elman.logProbs(text)).buffer);
  let out = "";
  for (let i = 0; i < bytes.length; i += 8192)
    out += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(out);
}"""
# The time of one key press, until surprisal and suggestions of whole words are drawn.
_KEYS = """() => {
  const box = document.getElementById("text"), times = [];
  for (const key of "the company said it would sell its shares ") {
    box.value += key;
    const began = performance.now();
    box.dispatchEvent(new Event("input"));
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b);
}"""
# Suggestions of spelled words come after a pause.
_SUGGESTIONS = """() => {
  const began = performance.now(), texts = ["the ", "the com", "it said ", "in new y"];
  for (const text of texts) elman.suggest(text, {complete: true});
  return (performance.now() - began) / texts.length;
}"""
_STEP = """() => {
  const began = performance.now();
  for (let i = 0; i < 50; i++) elman.logProbs(`the company ${i}`);
  return (performance.now() - began) / 50;
}"""


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


@dataclass
class Agreement:
    """How far the page agrees with the run."""

    same: int = 0  # texts with the same suggestions
    probability: float = 0.0  # largest difference
    surprisal: float = 0.0  # largest difference, in bits


def compare(run: elman.TrainedModel, page: Any, texts: list[str]) -> Agreement:
    """Ask run and page the same questions."""
    found = Agreement()
    for text in texts:
        own = [one.token for one in run.suggest(text)]
        found.same += own == [one["token"] for one in page.evaluate("t => elman.suggest(t)", text)]
        packed = base64.b64decode(page.evaluate(_LOG_PROBS, text))
        ids = torch.from_numpy(run.tokenizer.encode_typed(text))[None]
        with torch.inference_mode():
            right = run.model.predict(run.model.read(ids, run.model.start(1)))[0].exp().numpy()
        differences = np.abs(right - np.exp(np.frombuffer(packed, dtype=np.float32)))
        found.probability = max(found.probability, float(differences.max()))
        words = page.evaluate("t => elman.surprisal(t).words", text)
        for word, one in zip(words, run.surprisal(text), strict=True):
            found.surprisal = max(found.surprisal, abs(word["surprisal"] - one.surprisal))
    return found


def processor_seconds() -> float:
    """Of this program and all that it has started, such as the processes of the browser."""
    parents, used = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        number = int(place.parent.name)
        parents[number], used[number] = int(fields[1]), int(fields[11]) + int(fields[12])
    own = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(used.get(one, 0) for one in own) / os.sysconf("SC_CLK_TCK")


def load_times(browser: Any, path: Path) -> tuple[list[float], list[float]]:
    """Seconds from opening the file to the first suggestions: by the clock, of processors."""
    clock, processors = [], []
    for _ in range(_LOADS):
        page = browser.new_page()
        used, began = processor_seconds(), time.perf_counter()
        page.goto(f"file://{path}", timeout=120_000)
        page.wait_for_selector(".chip", timeout=120_000)
        clock.append(time.perf_counter() - began)
        processors.append(processor_seconds() - used)
        page.close()
    return sorted(clock), sorted(processors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--data")
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    run = elman.load(given.run, elman.TrainedModel)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "model.html"
        run.export(path, "page")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        loads, processors = load_times(browser, path)
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"file://{path}")
        page.wait_for_selector(".chip")
        keys, step = page.evaluate(_KEYS), page.evaluate(_STEP)
        suggested = page.evaluate(_SUGGESTIONS)
        print(
            f"{path.stat().st_size / 1e6:.1f} MB; first suggestions after {loads[0]:.2f} s (best of"
            f" {_LOADS}; median {loads[_LOADS // 2]:.2f}, worst {loads[-1]:.2f}; processors:"
            f" {processors[0]:.2f}, median {processors[_LOADS // 2]:.2f}); a key: median"
            f" {keys[len(keys) // 2]:.1f} ms, worst {keys[-1]:.1f}; suggestions:"
            f" {suggested:.1f} ms; a step: {step:.1f} ms",
            flush=True,
        )
        if not given.speed:
            found = compare(rounded(run), page, prefixes(run, given.data))
            print(
                f"same five suggestions: {found.same} of {_PREFIXES}; largest difference of a"
                f" probability {found.probability:.2g}, of a surprisal {found.surprisal:.2g} bits"
            )
        browser.close()


if __name__ == "__main__":
    main()
