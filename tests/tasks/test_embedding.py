"""Bidirectional language models as a task: words, batches, measures, run folders."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from small_elmo import LINES, SIZES, small_elmo

import elman
from elman.errors import InputError
from elman.recipes import load_recipe
from elman.tasks.embedding.task import Embedding

pytestmark = pytest.mark.usefixtures("without_curves")
SENTENCES = [tuple(line.split()) for line in LINES]


def task(*overrides: str) -> Embedding:
    return Embedding.learn(SENTENCES, load_recipe("elmo-small", [*SIZES, *overrides]))


def test_the_unknown_word_has_its_true_count() -> None:
    """Rare words and the unknown words of the text itself."""
    learned = task()
    words = [word for sentence in SENTENCES for word in sentence]
    known = {word for word in words if words.count(word) > 1}
    assert set(learned.words.words) == known | {"<unk>"}
    counts = learned.counts()
    assert int(counts[0]) == sum(word not in known for word in words)
    assert int(counts.sum()) == len(words)
    assert learned.words.ids(["<unk>", "dogs", "the"]).tolist()[:2] == [0, 0]


def test_the_text_s_own_unknown_word_stays_unknown() -> None:
    learned = task("text.min_count=1")
    assert learned.words.words.count("<unk>") == 1
    assert int(learned.counts()[0]) == 1


def test_batches_count_predictions() -> None:
    learned = task()
    batches = learned.batches(SENTENCES, 3, seed=None)
    total = sum(2 * (len(sentence) + 1) for sentence in SENTENCES)
    assert batches.tokens_per_epoch == total
    model = learned.build().eval()
    found = 0
    while (batch := batches.next()) is not None:
        with torch.no_grad():
            loss, _ = model.loss(batch)
        assert loss.tokens == batch.tokens
        found += batch.tokens
    assert found == total


def test_training_lowers_perplexity(tmp_path: Path) -> None:
    before = task()
    fresh = before.trained_class(before, before.build(), {}).measure(SENTENCES)
    trained = small_elmo(tmp_path, "training.epochs=60", "training.learning_rate=0.02")
    after = trained.evaluate(str(tmp_path))
    assert after.perplexity < 0.7 * fresh.perplexity
    validation = trained.facts["validation"]
    assert validation["perplexity"] == pytest.approx(after.perplexity, rel=1e-4)
    assert validation["tokens"] == after.predictions


def test_measures_are_those_of_the_scores(tmp_path: Path) -> None:
    trained = small_elmo(tmp_path, out=False)
    measures = trained.measure(SENTENCES)
    forward = backward = 0.0
    for sentence in SENTENCES:
        scores = trained.model.score(trained.task.reader.read([sentence]))
        forward, backward = forward - float(scores[0].sum()), backward - float(scores[1].sum())
    count = sum(len(sentence) + 1 for sentence in SENTENCES)
    assert measures.predictions == 2 * count
    assert measures.forward == pytest.approx(math.exp(forward / count), rel=1e-5)
    assert measures.backward == pytest.approx(math.exp(backward / count), rel=1e-5)
    assert measures.perplexity == pytest.approx(
        math.exp((forward + backward) / (2 * count)), rel=1e-5
    )
    assert measures.forward != measures.backward
    assert measures.unknown_words == int(trained.task.unknown)


def test_a_run_folder_gives_the_same_model(tmp_path: Path) -> None:
    trained = small_elmo(tmp_path)
    again = elman.load(tmp_path / "elmo")
    assert again.evaluate(str(tmp_path)) == trained.evaluate(str(tmp_path))
    for first, second in zip(trained.layers(SENTENCES), again.layers(SENTENCES), strict=True):
        np.testing.assert_array_equal(first, second)
    again.save(tmp_path / "copy")
    assert elman.load(tmp_path / "copy").evaluate(str(tmp_path)) == again.evaluate(str(tmp_path))


def test_layers_of_every_word(tmp_path: Path) -> None:
    trained = small_elmo(tmp_path, out=False)
    layers = trained.layers([*SENTENCES, ()])
    assert [part.shape for part in layers] == [(3, len(s), 12) for s in [*SENTENCES, ()]]
    alone = trained.layers(SENTENCES[1:2])[0]
    np.testing.assert_allclose(layers[1], alone, atol=1e-6)


def test_type_vectors_are_the_first_layer(tmp_path: Path) -> None:
    trained = small_elmo(tmp_path, out=False)
    vectors = trained.type_vectors(SENTENCES[0])
    layer = trained.layers(SENTENCES[:1])[0][0]
    np.testing.assert_allclose(np.concatenate([vectors, vectors], axis=1), layer, atol=1e-6)


def test_the_recipe_elmo_is_the_paper() -> None:
    config = load_recipe("elmo")
    model, training = config.model, config.training
    assert (model.projection, model.hidden_size, model.num_layers) == (512, 4096, 2)
    assert model.filters == (32, 32, 64, 128, 256, 512, 1024)
    assert model.samples == 8192
    assert (training.optimizer, training.learning_rate, training.accumulator) == ("adagrad", 0.2, 1)
    assert (training.batch_size, training.clip, training.epochs) == (128 * 3, 10, 10)


def test_texts_in_place_of_words_are_refused() -> None:
    learned = task()
    trained = learned.trained_class(learned, learned.build(), {})
    with pytest.raises(InputError, match=r"sentences\[0\] is a single text; give a list of words"):
        trained.layers(["the dog sees"])
    for call in (trained.layers, trained.type_vectors):
        with pytest.raises(InputError, match="is a single text; give a list of"):
            call("the dog sees")
