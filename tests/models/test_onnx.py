"""ONNX graphs of a model give its probabilities in onnxruntime, for any batch and length."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from elman.cells import CELLS
from elman.errors import InputError
from elman.models import MODELS
from elman.models.neural import NeuralModel

pytest.importorskip("onnxscript", reason="needs onnx: pip install 'elman[onnx]'")
write = pytest.importorskip("elman.formats.onnx_export", exc_type=ImportError).write
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the exporter are not ours
SIZE, EOS = 9, 0
TEXT = np.random.default_rng(5).integers(0, SIZE - 1, 400)
SMALL = {"embedding_size": 6, "init": "normal", "init_scale": 0.7}
FEW: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("recurrent", {"hidden_size": 6, "num_layers": 2}),
    "gru-line": ("recurrent", {"cell": "gru", "hidden_size": 6, "context": "line"}),
    "feed-forward": ("feed-forward", {"order": 4, "hidden_size": 6}),
}
ALL: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"cell-{cell}": ("recurrent", {"cell": cell, "hidden_size": 6}) for cell in CELLS},
    "mixture": ("recurrent", {"hidden_size": 6, "output": "mixture"}),
    "classes": ("recurrent", {"hidden_size": 6, "output": "classes"}),
    "log-bilinear-line": ("log-bilinear", {"order": 4, "context": "line"}),
}


class Run:
    """As much of a run as the export reads."""

    name = "run"

    def __init__(self, model: Any) -> None:
        self.model = model
        self.tokenizer = SimpleNamespace(tokens=[str(number) for number in range(SIZE)])


def build(kind: str, settings: dict[str, Any]) -> NeuralModel:
    torch.manual_seed(3)
    cls = MODELS.choose(kind)
    words = [str(number) for number in range(SIZE)]
    return cls.build(cls.config_class(**SMALL, **settings), TEXT, words, EOS).eval()


def session(path: Path) -> Any:
    return pytest.importorskip("onnxruntime").InferenceSession(path)


def line_nats(model: NeuralModel, row: torch.Tensor) -> float:
    """Of one line, its end included."""
    ids = torch.cat([row, torch.tensor([EOS])])[None]
    with torch.no_grad():
        return -float(model.score(ids, model.start(1))[0].sum())


def check_lines(model: NeuralModel, path: Path, *, nats: float = 0.0, share: float = 0.0) -> None:
    """Each line may differ by so many nats, or by this share of its own nats."""
    graph, drawn = session(path), torch.Generator().manual_seed(1)
    for rows, longest in ((1, 1), (2, 5), (3, 7)):  # not only the size of the example
        x = torch.randint(1, SIZE, (rows, longest), generator=drawn)
        lengths = torch.randint(0, longest + 1, (rows,), generator=drawn)
        (found,) = graph.run(None, {"x": x.numpy(), "x_lens": lengths.numpy()})
        expected = [line_nats(model, row[:n]) for row, n in zip(x, lengths, strict=True)]
        np.testing.assert_allclose(found, expected, atol=nats, rtol=share)


def check_steps(model: NeuralModel, path: Path) -> None:
    graph = session(path)
    names = [value.name for value in graph.get_inputs()]
    assert names[0] == "ids"
    for rows in (1, 3):
        ids = torch.randint(0, SIZE, (rows, 6), generator=torch.Generator().manual_seed(rows))
        with torch.no_grad():
            expected, _ = model.predict_all(ids, model.start(rows))
        state = first_state(graph, rows)
        read = torch.cat([torch.full((rows, 1), EOS), ids], dim=1).numpy()
        for t in range(ids.shape[1]):
            found, *state = graph.run(None, dict(zip(names, [read[:, t], *state], strict=True)))
            np.testing.assert_allclose(found, expected[:, t], atol=1e-5)


def first_state(graph: Any, rows: int) -> list[np.ndarray]:
    """As the metadata describe it."""
    import json

    described = json.loads(graph.get_modelmeta().custom_metadata_map["state"])
    kinds = {value.name: value.type for value in graph.get_inputs()}
    return [
        np.full(
            (rows, each["size"]),
            each["value"],
            np.float32 if "float" in kinds[each["name"]] else np.int64,
        )
        for each in described
    ]


def check(chosen: tuple[str, dict[str, Any]], place: Path) -> None:
    model = build(*chosen)
    write(Run(model), place / "graphs")
    check_steps(model, place / "graphs" / "step.onnx")
    check_lines(model, place / "graphs" / "nll.onnx", nats=2e-5)
    # 6 units and large weights: rounding changes a line by up to 1.5 % of its nats.
    check_lines(model, place / "graphs" / "nll.int8.onnx", share=0.03)


@pytest.mark.parametrize("name", FEW)
def test_graphs_give_the_probabilities_of_elman(name: str, tmp_path: Path) -> None:
    check(FEW[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_graphs_of_every_cell(name: str, tmp_path: Path) -> None:
    check(ALL[name], tmp_path)


def test_a_recogniser_finds_its_metadata(tmp_path: Path) -> None:
    write(Run(build(*FEW["feed-forward"])), tmp_path / "graphs")
    found = session(tmp_path / "graphs" / "nll.onnx").get_modelmeta().custom_metadata_map
    assert (found["sos_id"], found["eos_id"], found["vocab_size"]) == ("0", "0", "9")


def test_an_n_gram_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    cls = MODELS.choose("ngram")
    model = cls.fit(TEXT, cls.config_class(order=2), vocabulary_size=SIZE, eos_id=EOS)
    with pytest.raises(InputError, match="elman export RUN --to arpa"):
        write(Run(model), tmp_path / "graphs")
