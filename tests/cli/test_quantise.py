"""`elman quantise`: a smaller run that every command takes."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import elman


@pytest.fixture
def run(place: Path, tmp_path: Path) -> str:
    """A tiny network, trained for a moment."""
    out = tmp_path / "run"
    settings = ["training.epochs=1", "model.hidden_size=16", "model.embedding_size=16"]
    elman.train("small", data=str(place / "data"), out=str(out), overrides=settings)
    return str(out)


def test_the_new_run_is_smaller_and_nearly_as_good(
    run: str, says: Any, gives: Any, tmp_path: Path
) -> None:
    out = str(tmp_path / "small")
    assert f"saved in {out}" in says("quantise", run, "--out", out)
    sizes = gives("quantise", run, "--out", out, "--overwrite")
    assert sizes["bytes_after"] < 0.6 * sizes["bytes_before"]  # tiny: many biases and counts
    before, after = (gives("evaluate", name, "--data", "data") for name in (run, out))
    assert after["perplexity"] == pytest.approx(before["perplexity"], rel=0.02)
    assert after["nats"] != before["nats"]
    assert says("generate", out, "--prompt", "the cat", "--seed", "1")


@pytest.mark.parametrize("size", [13, 50])
def test_any_width_can_be_quantised(
    place: Path, tmp_path: Path, says: Any, gives: Any, size: int
) -> None:
    """The kernel for eight bits reads whole blocks of inputs; 13 and 50 do not fill the last."""
    run, out = str(tmp_path / "odd"), str(tmp_path / "odd8")
    settings = ["training.epochs=2", f"model.hidden_size={size}", f"model.embedding_size={size}"]
    elman.train("small", data=str(place / "data"), out=run, overrides=settings)
    says("quantise", run, "--out", out)
    four, many = (
        gives("generate", out, "--samples", n, "--seed", "1")["samples"] for n in ("4", "20")
    )
    assert len(four) == 4
    for few, crowd in zip(four, many, strict=False):
        assert crowd["tokens"] == few["tokens"]
        # Products of 4 and of 20 rows are summed in another order on some processors.
        assert crowd["log_prob"] == pytest.approx(few["log_prob"], rel=1e-5)
    before, after = (_after_a_step(name) for name in (run, out))
    assert torch.allclose(before, after, atol=0.05)
    assert not torch.equal(before, after)


def _after_a_step(run: str) -> torch.Tensor:
    """Log probabilities after a single word."""
    model = elman.load(run).model
    with torch.inference_mode():
        return model.predict(model.read(torch.tensor([[3]]), model.start(1)))


def test_a_count_model_is_smaller_and_answers_everything(
    call: Any, says: Any, gives: Any, tmp_path: Path
) -> None:
    out, arpa = str(tmp_path / "small"), str(tmp_path / "small.arpa")
    sizes = gives("quantise", "words", "--out", out)
    assert sizes["bytes_after"] < 0.6 * sizes["bytes_before"]
    before, after = (gives("evaluate", name, "--data", "data") for name in ("words", out))
    assert after["perplexity"] == pytest.approx(before["perplexity"], rel=0.01)
    (token,) = gives("explain", out, "--text", "cat")["tokens"]
    (word,) = gives("surprisal", out, "--text", "cat", "--base", "e")["words"]
    assert -math.log(token["probability"]) == pytest.approx(word["surprisal"])
    assert all(row["count"] is None for row in token["orders"])
    assert gives("suggest", out, "the")["suggestions"][0]["probability"] > 0.1
    says("export", out, arpa)
    says("import", arpa, "--out", str(tmp_path / "again"))
    again = gives("evaluate", str(tmp_path / "again"), "--data", "data")
    assert again["perplexity"] == pytest.approx(after["perplexity"], rel=1e-9)
    says("quantise", out, "--out", str(tmp_path / "twice"))  # rounded again: nothing changes
    twice = gives("evaluate", str(tmp_path / "twice"), "--data", "data")
    assert twice["nats"] == after["nats"]


def test_32_bits_lose_nothing_that_matters(call: Any, gives: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "single")
    sizes = gives("quantise", "words", "--out", out, "--bits", "32")
    assert sizes["bytes_after"] < sizes["bytes_before"]
    before, after = (gives("evaluate", name, "--data", "data") for name in ("words", out))
    assert after["perplexity"] == pytest.approx(before["perplexity"], rel=1e-6)
    assert after["nats"] != before["nats"]


def test_other_numbers_of_bits(call: Any, run: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for name, bits, message in (("words", "4", "choose 8 or 32"), (run, "32", "has 32 bits")):
        result = call("quantise", name, "--out", out, "--bits", bits)
        assert result.code == 2
        assert message in result.err
        assert not Path(out).exists()


def test_nothing_is_overwritten_unasked(call: Any) -> None:
    result = call("quantise", "words", "--out", "words")
    assert result.code == 2
    assert "exists already" in result.err
