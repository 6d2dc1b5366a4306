"""`elman train word2vec` and `model.vectors`: from text to vectors, and from vectors to tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman
from elman.cli import run as run_command
from elman.errors import InputError
from elman.formats.word_vectors import open_word_vectors, read_word_vectors, write_word_vectors
from elman.tasks.pretrained import with_vector_size
from elman.tasks.task import resume
from elman.training.machine import Machine

pytestmark = pytest.mark.usefixtures("without_curves")
SMALL = (
    "model.embedding_size=12",
    "text.min_count=1",
    "model.subsample=0",
    "model.window=2",
    "training.min_steps=0",
    "training.epochs=60",
    "training.batch_size=200",
)
ANIMALS, FOODS = ["cat", "dog", "cow"], ["bread", "rice", "soup"]


def lines(count: int, seed: int) -> str:
    """Animals sleep and run; foods are cooked and eaten."""
    drawn = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        if drawn.random() < 0.5:
            found.append(f"{drawn.choice(ANIMALS)} {drawn.choice(['sleeps', 'runs', 'jumps'])}")
        else:
            found.append(f"{drawn.choice(FOODS)} {drawn.choice(['cooked', 'eaten', 'served'])}")
    return "\n".join(found) + "\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text") / "data"
    folder.mkdir()
    (folder / "train.txt").write_text(lines(300, 0))
    (folder / "valid.txt").write_text(lines(40, 1))
    return folder


@pytest.fixture(scope="module")
def run(data: Path, without_curves: None) -> Path:
    out = data.parent / "run"
    elman.train("word2vec", data=str(data), out=out, overrides=SMALL)
    return out


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_words_with_the_same_neighbours_are_near(method: str, data: Path) -> None:
    trained = elman.train("word2vec", data=str(data), overrides=[*SMALL, f"model.method={method}"])
    near = trained.ask("nearest", words="cat", top=2).to_data()["nearest"]
    assert {one["word"] for one in near} == {"dog", "cow"}
    first, second = trained.evaluate(str(data), split="valid"), trained.facts["validation"]
    assert first.main()[1] == pytest.approx(second["loss"])
    assert first.main()[1] < 6 * np.log(2) - 0.5  # better than at the start


def test_an_analogy_adds_and_subtracts(run: Path) -> None:
    trained: Any = elman.load(run)
    found = trained.ask("nearest", words="cat - sleeps + cooked", top=3).to_data()["nearest"]
    unit = {
        word: v / np.linalg.norm(v) for word, v in zip(trained.words, trained.table, strict=True)
    }
    wanted = unit["cat"] - unit["sleeps"] + unit["cooked"]
    cosines = {w: float(v @ wanted / np.linalg.norm(wanted)) for w, v in unit.items()}
    left = sorted(cosines.keys() - {"cat", "sleeps", "cooked"}, key=lambda w: -cosines[w])
    assert [one["word"] for one in found] == left[:3]
    assert found[0]["cosine"] == pytest.approx(cosines[left[0]], abs=1e-5)


def test_wrong_questions_get_a_clear_line(run: Path) -> None:
    trained: Any = elman.load(run)
    with pytest.raises(InputError, match="has no vector of 'catt'; did you mean 'cat'"):
        trained.ask("nearest", words="catt")
    for empty in ("", " + - "):
        with pytest.raises(InputError, match="words is empty"):
            trained.ask("nearest", words=empty)
    with pytest.raises(InputError, match="words is a single text; give a list of words"):
        trained.vectors("cat")
    with pytest.raises(InputError, match="text: give one text, not a list"):
        trained.ask("embed", text=["cat"])


def test_embed_gives_the_same_vector_in_every_context(run: Path) -> None:
    trained: Any = elman.load(run)
    first, second = trained.ask("embed", text="cat runs\nthe cat").to_data()["lines"]
    assert first["layers"][0][0] == second["layers"][0][1]
    assert second["layers"][0][0] == [0.0] * 12  # unknown


def test_a_stopped_run_continues_bit_for_bit(data: Path, run: Path, tmp_path: Path) -> None:
    short = [*SMALL[:-2], "training.epochs=30", SMALL[-1], "training.schedule=constant"]
    whole = elman.train("word2vec", data=str(data), overrides=short)
    half = [setting.replace("epochs=30", "epochs=15") for setting in short]
    elman.train("word2vec", data=str(data), out=tmp_path / "half", overrides=half)
    resumed: Any = resume(tmp_path / "half", overrides=["training.epochs=30"])
    np.testing.assert_array_equal(resumed.table, whole.table)


def test_raw_text_is_split_into_words_and_marks(tmp_path: Path) -> None:
    text = "The cat, the dog; they sleep. A cow runs! Bread is eaten, soup is served.\n" * 30
    (tmp_path / "raw.txt").write_text(text)
    trained: Any = elman.train("word2vec", data=str(tmp_path / "raw.txt"), overrides=SMALL)
    assert "cat" in trained.words
    assert "," in trained.words
    assert "cat," not in trained.words


def test_export_writes_the_text_format(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "vectors.vec"
    assert run_command(["export", str(run), str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["words"] == 12
    found = read_word_vectors(open_word_vectors(file), lambda word: True)
    trained: Any = elman.load(run)
    assert found.words == trained.words
    np.testing.assert_allclose(found.vectors, trained.table, rtol=1e-6)
    assert run_command(["export", str(run), str(file)]) == 2  # exists already


# model.vectors ------------------------------------------------------------------------------------

LABELS = {"cat": "animal", "dog": "animal", "bread": "food", "rice": "food"}
FAST = (
    "training.min_steps=60",
    "training.epochs=1",
    "model.hidden_size=8",
    "model.vectors_words=100",
)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled") / "data"
    folder.mkdir()
    rows = [f"{word} {verb}\t{label}\n" for word, label in LABELS.items() for verb in ("is", "was")]
    (folder / "train.tsv").write_text("".join(rows * 3))
    (folder / "valid.tsv").write_text("".join(rows))
    return folder


def classifier(labelled: Path, *settings: str, **options: Any) -> Any:
    return elman.train("classifier", data=str(labelled), overrides=[*FAST, *settings], **options)


def start(trained: Any) -> tuple[np.ndarray, Any]:
    """The vectors of a model that has not been trained, and its features."""
    model = trained.task.fresh_model([])
    features = model.encoder.features
    return features.vectors.weight.detach().numpy(), features


def test_words_start_from_their_vectors(run: Path, labelled: Path) -> None:
    notes: list[str] = []
    trained = classifier(
        labelled, f"model.vectors={run}", machine=Machine(note=notes.append), seed=1
    )
    vectors: Any = elman.load(run)
    trained.task.config.model.ngrams = 0
    table, features = start(trained)
    words = trained.task.words
    np.testing.assert_array_equal(table[words.ids(["cat"])[0]], vectors.vectors(["cat"])[0])
    found = vectors.vectors([*LABELS])
    others = table[words.ids(["is", "was"])]  # which have no vectors: random, at the same scale
    assert 0.3 < others.std() / found.std() < 3
    assert f"4 of 6 words found in {run}; 8 more of its words are added to the vocabulary" in notes
    assert words.known == 7
    assert len(words) == 15
    assert features.unseen.shape == (8, 12)


def test_words_of_the_file_alone_are_used_and_saved(
    run: Path, labelled: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "vectors.vec"
    elman.load(run).export(copied)
    settings = (f"model.vectors={copied}", "model.ngrams=0", "training.min_steps=150")
    settings += ("training.learning_rate=0.02", "training.patience=0")
    settings += ("model.dropout_features=0", "model.dropout_pooled=0")
    trained = classifier(labelled, *settings, out=tmp_path / "run")
    copied.unlink()  # the run needs it no more
    loaded: Any = elman.load(tmp_path / "run")
    texts = ["cow is", "soup was"]  # cow and soup come only in the vectors
    assert [one.label for one in loaded.classify(texts)] == ["animal", "food"]
    for one in (loaded, trained):
        assert one.config.model.embedding_size == 12  # from the file
    known = loaded.task.words
    row = known.ids(["cow"])[0] - known.known
    np.testing.assert_allclose(
        loaded.model.encoder.features.unseen[row].numpy(),
        elman.load(run).vectors(["cow"])[0],
        rtol=1e-5,
    )


def test_fixed_vectors_stay(run: Path, labelled: Path) -> None:
    trained = classifier(labelled, f"model.vectors={run}", "model.vectors_fixed=true")
    number = trained.task.words.ids(["cat"])[0]
    own = trained.model.encoder.features.vectors.weight[number].detach().numpy()
    np.testing.assert_array_equal(own, elman.load(run).vectors(["cat"])[0])
    tuned = classifier(labelled, f"model.vectors={run}")
    assert not np.array_equal(
        tuned.model.encoder.features.vectors.weight[number].detach().numpy(), own
    )


def test_a_language_model_starts_from_vectors_and_resumes_without_the_file(
    run: Path, data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "vectors.vec"
    elman.load(run).export(file)
    settings = [f"model.vectors={file}", "model.hidden_size=12", "training.epochs=1"]
    trained: Any = elman.train("quick", data=str(data), out=tmp_path / "lm", overrides=settings)
    number = trained.tokenizer.tokens.index("cat")
    fresh = trained.task.fresh_model(trained.tokenizer.encode(lines(20, 0)))
    np.testing.assert_allclose(
        fresh.input.table[number].detach().numpy(), elman.load(run).vectors(["cat"])[0], rtol=1e-5
    )
    file.unlink()
    resume(tmp_path / "lm", overrides=["training.epochs=2"])


@pytest.mark.parametrize(
    ("recipe", "settings", "message"),
    [
        ("quick", ["text.tokenizer=characters"], "the tokens of 'characters' are not words"),
        (
            "quick",
            ["model.embedding_size=10"],
            "has 12 numbers per word, the model 10; add --set m",
        ),
        ("word2vec", [], "unknown setting model.vectors"),
    ],
)
def test_vectors_that_do_not_fit(
    recipe: str, settings: list[str], message: str, run: Path, data: Path
) -> None:
    with pytest.raises(InputError, match=message):
        elman.train(recipe, data=str(data), overrides=[f"model.vectors={run}", *settings])


def test_missing_and_other_runs_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        elman.train("quick", data=str(data), overrides=[f"model.vectors={tmp_path / 'no'}"])
    elman.train("ngram", data=str(data), out=tmp_path / "ngram")
    with pytest.raises(InputError, match="is a run of the model 'ngram'; give one of the recipe"):
        elman.train("quick", data=str(data), overrides=[f"model.vectors={tmp_path / 'ngram'}"])


def test_capitals_get_a_warning(labelled: Path, run: Path, tmp_path: Path) -> None:
    upper = tmp_path / "upper"
    upper.mkdir()
    for name in ("train.tsv", "valid.tsv"):
        text = (labelled / name).read_text()
        (upper / name).write_text("".join(line.capitalize() for line in text.splitlines(True)))
    warnings: list[str] = []
    settings = [*FAST, f"model.vectors={run}", "text.lowercase=false"]
    machine = Machine(warn=warnings.append)
    elman.train("classifier", data=str(upper), overrides=settings, machine=machine)
    assert any("lower case would find 4 more words" in one for one in warnings)


def test_few_words_get_a_warning(labelled: Path, tmp_path: Path) -> None:
    write_word_vectors(tmp_path / "v.vec", ["chat", "chien"], np.ones((2, 12), dtype=np.float32))
    warnings: list[str] = []
    settings = [*FAST, f"model.vectors={tmp_path / 'v.vec'}"]
    machine = Machine(warn=warnings.append)
    elman.train("classifier", data=str(labelled), overrides=settings, machine=machine)
    assert any("has only 0 of the 6 words" in one for one in warnings)


def test_the_size_comes_from_the_file_unless_it_is_set(run: Path) -> None:
    named = f"model.vectors={run}"
    assert with_vector_size([named]) == [named, "model.embedding_size=12"]
    assert with_vector_size([named, "model.embedding_size=5"]) == [named, "model.embedding_size=5"]
    assert with_vector_size(["model.tied=true"]) == ["model.tied=true"]


def test_vectors_and_a_run_to_start_from_are_one_too_many(
    run: Path, labelled: Path, tmp_path: Path
) -> None:
    classifier(labelled, "model.embedding_size=12", out=tmp_path / "first")
    with pytest.raises(InputError, match="both give word vectors; leave out one"):
        classifier(labelled, f"model.vectors={run}", start_from=tmp_path / "first")
