"""Training a neural model into a run folder, from scratch or from another run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tiny import history, sentences, train_tiny, weights

from elman.errors import InputError
from elman.runs.folder import read_run
from elman.tasks.task import load, resume, train
from elman.training import loop
from elman.training.loop import Stopped
from elman.training.machine import Machine

pytestmark = pytest.mark.usefixtures("without_curves")


def test_a_run_from_beginning_to_end(data: Path, out: Path) -> None:
    stages: list[str] = []
    trained = train_tiny(data, out, progress=stages.append)
    assert stages == ["reading", "tokenizing"]
    facts = trained.facts
    assert facts["training"]["finished"] is True
    assert facts["training"]["epochs"] == 2
    assert facts["training"]["steps"] == 22  # two times eleven windows of ten
    assert facts["training"]["tokens"] == 2 * 4 * (60 * 7 // 4 - 1)  # in four columns
    assert facts["validation"]["perplexity"] < 11  # it has learned something
    assert facts["validation"]["tokens"] == 20 * 7 - 1
    assert facts["seconds"] > 0
    json.dumps(facts, allow_nan=False)
    loaded = load(out)
    assert loaded.facts == json.loads(json.dumps(read_run(out)["facts.json"]))
    assert weights(loaded) == weights(trained)
    assert loaded.facts["training"] == facts["training"]
    assert trained.perplexity("the cat sees a dog .\n") == loaded.perplexity(
        "the cat sees a dog .\n"
    )
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert "history.jsonl" in names
    assert not any("partial" in path.name for path in out.iterdir())


def test_validation_is_nearly_what_evaluate_measures(data: Path, out: Path) -> None:
    trained = train_tiny(data, out)
    measured = trained.evaluate(str(data), split="valid")
    # The training's measurement leaves out the first token of its one column.
    assert trained.facts["validation"]["tokens"] == measured.tokens - 1
    assert trained.facts["validation"]["perplexity"] == pytest.approx(measured.perplexity, rel=0.01)


def test_without_a_place_nothing_is_written(
    data: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trained = train_tiny(data, None)
    before = sorted(tmp_path.rglob("*"))
    assert weights(train_tiny(data, None)) == weights(trained)
    assert sorted(tmp_path.rglob("*")) == before
    assert weights(trained) == weights(train_tiny(data, out))


def test_the_seed_decides(data: Path) -> None:
    first, again, other = (weights(train_tiny(data, None, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_record_and_every_saved_number_is_json(data: Path, out: Path) -> None:
    train_tiny(data, out, "training.schedule=plateau")

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    texts = [path.read_text() for path in out.glob("*.json")]
    texts += (out / "history.jsonl").read_text().splitlines()
    for text in texts:
        json.loads(text, parse_constant=refuse)


def test_progress_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_HISTORY_STEPS", 5)
    seen: list[loop.Progress] = []
    train_tiny(data, None, machine=Machine(watch=seen.append))
    assert [progress.epochs for progress in seen] == sorted(progress.epochs for progress in seen)
    assert seen[-1].epochs == seen[-1].of_epochs == 2
    assert seen[0].validation is None
    assert seen[-1].validation is not None
    assert all(progress.tokens_per_second > 0 for progress in seen)


@pytest.mark.parametrize("settings", [[], ["training.average=ema"]], ids=["last", "averages"])
def test_without_validation_text_the_last_weights_are_kept(
    data: Path, out: Path, settings: list[str]
) -> None:
    (data / "valid.txt").unlink()
    trained = train_tiny(data, out, *settings)
    parts = read_run(out)
    last = {name: array.tobytes() for name, array in parts["last.safetensors"].items()}
    untrained = weights(train_tiny(data, None, *settings, "training.epochs=0.01"))
    assert (weights(trained) == last) == (not settings)
    assert weights(trained) == weights(load(out)) != untrained
    assert trained.facts["validation"] is None
    assert trained.perplexity(sentences(20, 9)) < 9.5
    assert history(out)[-1]["step"] == trained.facts["training"]["steps"]


def test_early_stopping(data: Path, out: Path) -> None:
    (data / "valid.txt").write_text(". likes hears cat a\n" * 20)  # soon gets worse
    trained = train_tiny(data, out, "training.epochs=20", "training.patience=3")
    best = [record["best"] for record in history(out) if "best" in record]
    written = "".join("better " if each else "no " for each in best)
    assert written.endswith("better no no no ")
    assert written.count("no no no") == 1  # at the first three without a gain
    assert trained.facts["training"]["epochs"] == len(best) < 20
    assert trained.facts["training"]["finished"] is True
    parts = read_run(out)
    assert parts["facts.json"]["training"]["finished"] is True
    assert (
        parts["training.json"]["trainer"]["best_step"] < parts["training.json"]["trainer"]["step"]
    )


# Fine-tuning ------------------------------------------------------------------------------------


def test_a_run_begins_with_the_weights_of_another(data: Path, out: Path, tmp_path: Path) -> None:
    first = train_tiny(data, out)
    # After one step with next to no rate they still are the same.
    settings = ["training.learning_rate=1e-30", "training.epochs=0.01"]
    second = train_tiny(data, tmp_path / "second", *settings, start_from=out)
    assert weights(second) == weights(first)
    assert second.tokenizer.encode("the cat").tolist() == first.tokenizer.encode("the cat").tolist()
    other = tmp_path / "other.txt"
    other.write_text("the bird sees a unicorn .\n" * 60)
    tuned = train_tiny(other, tmp_path / "third", start_from=out)
    assert len(tuned.tokenizer) == len(first.tokenizer)  # the vocabulary is that of the first
    assert tuned.facts["data"]["unknown_tokens"] == 54
    text = "the bird sees a bird .\n" * 5
    assert tuned.perplexity(text) < first.perplexity(text)


def test_a_run_has_the_sizes_of_the_one_it_begins_with(data: Path, out: Path) -> None:
    train_tiny(data, out, "model.hidden_size=7")
    assert train_tiny(data, None, start_from=out).config.model.hidden_size == 7


def test_a_fine_tuned_run_is_resumed_as_any_other(
    data: Path, out: Path, tmp_path: Path, stopping: list[int]
) -> None:
    train_tiny(data, out, "model.dropout_output=0.3")
    whole = train_tiny(data, None, "model.dropout_output=0.3", start_from=out)
    stopping.append(7)
    with pytest.raises(Stopped):
        train_tiny(data, tmp_path / "tuned", "model.dropout_output=0.3", start_from=out)
    stopping.clear()
    shutil.rmtree(out)  # it is not needed any more
    assert weights(resume(tmp_path / "tuned")) == weights(whole)


def test_only_like_models_begin_with_each_other(data: Path, out: Path, tmp_path: Path) -> None:
    train_tiny(data, out)
    for change in ("model.hidden_size=7", "model.cell=gru", "model.num_layers=2"):
        with pytest.raises(
            InputError, match="--from .*run: its model differs from the model of this recipe"
        ):
            train_tiny(data, tmp_path / "new", change, start_from=out)
    train("ngram", data=str(data), out=tmp_path / "counts")
    with pytest.raises(InputError, match="--from .*counts: this is not a neural model"):
        train_tiny(data, tmp_path / "new", start_from=tmp_path / "counts")
    with pytest.raises(InputError, match="a count model cannot be fine-tuned"):
        train("ngram", data=str(data), start_from=out)
    assert not (tmp_path / "new").exists()
