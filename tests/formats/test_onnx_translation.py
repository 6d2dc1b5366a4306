"""Encoder–decoders as two ONNX graphs: greedy decoding writes what elman writes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import train_translator, write_captions, write_parallel

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the exporter are not ours
SMALL = ["model.hidden_size=12", "model.embedding_size=8", "training.epochs=1"]
VARIANTS = {
    "feeding": ["model.attend=after", "model.input_feeding=true", "model.num_layers=2"],
    "none": ["model.attention=none", "model.cell=lstm"],
    "coverage": ["model.coverage=true"],
    "bpe": ["text.tokenizer=bpe", "text.vocabulary_size=300", "model.attention=bilinear"],
}


class Graphs:
    """Both graphs of a folder."""

    def __init__(self, folder: Path) -> None:
        runtime = pytest.importorskip("onnxruntime")
        self.encode, self.step = (
            runtime.InferenceSession(folder / f"{name}.onnx") for name in ("encode", "step")
        )
        self.eos = int(self.step.get_modelmeta().custom_metadata_map["eos_id"])
        self.given = [value.name for value in self.step.get_inputs()]

    def write(
        self, sources: list[np.ndarray], limits: list[int], banned: int | None = None
    ) -> list[list[int]]:
        """The most probable word at every step, until `<eos>`."""
        lengths = np.array([len(source) for source in sources])
        shape = (len(sources), lengths.max(), *sources[0].shape[1:])
        padded = np.zeros(shape, dtype=sources[0].dtype)
        for row, source in zip(padded, sources, strict=True):
            row[: len(source)] = source
        names = [value.name for value in self.encode.get_outputs()]
        found = self.encode.run(None, {"source": padded, "lengths": lengths})
        kept = dict(zip(names, found, strict=True))
        kept["real"] = np.arange(shape[1]) < lengths[:, None]
        ids = np.full(len(sources), self.eos)
        written: list[list[int]] = [[] for _ in sources]
        open_rows = set(range(len(sources)))
        states = [name for name in names if name.startswith("state_")]
        while open_rows:
            inputs = {name: kept[name] for name in self.given if name != "ids"}
            log_probs, *after = self.step.run(None, {"ids": ids, **inputs})
            kept |= dict(zip(states, after, strict=False))
            if banned is not None:
                log_probs[:, banned] = -np.inf
            ids = log_probs.argmax(1)
            for row in sorted(open_rows):
                written[row].append(int(ids[row]))
                if ids[row] == self.eos or len(written[row]) == limits[row]:
                    open_rows.remove(row)
        return written


def check_greedy(run: Any, place: Path, sources: list[Any]) -> None:
    pytest.importorskip("onnxscript")
    run.export(place / "graphs", "onnx")
    graphs = Graphs(place / "graphs")
    encoded = [source.numbers for source in run.task.encode_sources(sources)]
    limits = [run._limit(len(source)) for source in encoded]
    if run.task.source is not None:
        end = run.task.source.tokenizer.eos_id
        encoded = [np.append(source, end) for source in encoded]
    else:
        encoded = [source.astype(np.float32) for source in encoded]
    wanted = [list(best[0].ids) for best in run.search(sources, beam=1)]
    banned = run.task.target.tokenizer.unknown_id
    for size in (1, 7, 64):
        for first in range(0, len(sources), size):
            part = slice(first, first + size)
            found = graphs.write(encoded[part], limits[part], banned)
            assert [strip(ids, graphs.eos) for ids in found] == [
                strip(ids, graphs.eos) for ids in wanted[part]
            ]


def strip(ids: list[int], eos: int) -> list[int]:
    return [number for number in ids if number != eos]


def random_sources(count: int) -> list[str]:
    drawn = np.random.default_rng(5)
    words = ["the", "dog", "cat", "sees", "man", "a", "unseen"]
    return [" ".join(drawn.choice(words, drawn.integers(1, 12))) for _ in range(count)]


def test_greedy_decoding_writes_the_same(tmp_path: Path) -> None:
    data = write_parallel(tmp_path / "data")
    check_greedy(train_translator(data, None, *SMALL), tmp_path, random_sources(100))


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_other_models_write_the_same(name: str, tmp_path: Path) -> None:
    data = write_parallel(tmp_path / "data")
    run = train_translator(data, None, *SMALL, *VARIANTS[name])
    check_greedy(run, tmp_path, random_sources(100))


@pytest.mark.slow
def test_sources_that_are_vectors(tmp_path: Path) -> None:
    data = write_captions(tmp_path / "data")
    run = train_translator(data, None, *SMALL, "text.source=npz", "text.target=txt")
    drawn = np.random.default_rng(0)
    grids = [drawn.integers(0, 2, (drawn.integers(2, 5), 2)) for _ in range(20)]
    check_greedy(run, tmp_path, [grid.astype(np.float32) for grid in grids])


def test_tokenizers_come_along(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    from tokenizers import Tokenizer

    run = train_translator(write_parallel(tmp_path / "data"), None, *SMALL)
    run.export(tmp_path / "graphs", "onnx")
    source = Tokenizer.from_file(str(tmp_path / "graphs" / "source_tokenizer.json"))
    (wanted,) = run.task.encode_sources(["the dog sees unseen"])
    assert source.encode("the dog sees unseen").ids == wanted.numbers.tolist()
