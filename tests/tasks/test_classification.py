"""Classification: by hand, independent of what stands beside a text, kept, resumed, explained."""

from __future__ import annotations

import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stopping import stop_at

import elman
from elman.errors import InputError
from elman.tasks.classification import Classification
from elman.tasks.neural_training import resume
from elman.tasks.recipes import load_recipe
from elman.tasks.trained_classifier import TrainedClassifier
from elman.text.labelled import Example
from elman.text.reader import Document
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

SMALL = (
    "model.hidden_size=6",
    "model.embedding_size=8",
    "model.dropout_features=0",
    "model.dropout_pooled=0",
    "training.epochs=6",
    "training.batch_size=8",
    "training.learning_rate=0.02",
)
FILMS = ("film", "story", "cast")
WORDS = {"good": ("fine", "warm", "funny"), "bad": ("dull", "cold", "weak")}


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    """A label, and a text of three to seven words that one of them decides."""
    drawn = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        label = str(drawn.choice([*WORDS]))
        words = [str(word) for word in drawn.choice(FILMS, drawn.integers(1, 5))]
        words.insert(int(drawn.integers(0, len(words) + 1)), str(drawn.choice(WORDS[label])))
        found.append((label, f"a {' '.join(words)} ."))
    return found


def write(folder: Path, **splits: list[tuple[str, str]]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for split, examples in splits.items():
        lines = [f"{text}\t{label}\n" for label, text in examples]
        (folder / f"{split}.tsv").write_text("".join(lines))
    return str(folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("films")
    return write(place, train=texts(80, 0), dev=texts(20, 1), test=texts(40, 2))


def train(data: str, *overrides: str, **options: Any) -> TrainedClassifier:
    trained = elman.train("classifier", data=data, overrides=[*SMALL, *overrides], **options)
    assert isinstance(trained, TrainedClassifier)
    return trained


@pytest.fixture(scope="module")
def trained(data: str, without_curves: None) -> TrainedClassifier:
    return train(data)


def log_probabilities(trained: TrainedClassifier, given: Any) -> np.ndarray:
    (found,) = trained.classify([given])
    return np.log([found.probabilities[label] for label in trained.task.labels])


# What comes out -----------------------------------------------------------------------------------


def test_it_learns(trained: TrainedClassifier, data: str) -> None:
    measures = trained.evaluate(data)
    assert measures.main() == ("accuracy", measures.labels.accuracy)
    assert measures.labels.accuracy > 0.9
    assert measures.labels.count == 40
    assert trained.facts["task"]["labels"].keys() == {"bad", "good"}


def test_the_probabilities_of_all_labels_add_up_and_come_likeliest_first(
    trained: TrainedClassifier,
) -> None:
    found = trained.classify([text for _, text in texts(10, 3)])
    for one in found:
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert [*one.probabilities.values()] == sorted(one.probabilities.values(), reverse=True)
        assert (one.label, one.probability) == next(iter(one.probabilities.items()))


def test_scores_by_hand(data: str) -> None:
    window = ["model.encoder=window", "model.window=0", "model.pooling=max"]
    trained = train(data, *window, "training.epochs=1")
    found = trained.model.arrays()
    ids = trained.task.words.ids("a warm film .".split())
    vectors = found["encoder.features.vectors.weight"][ids]
    hidden = np.tanh(vectors @ found["encoder.window.weight"].T + found["encoder.window.bias"])
    scores = hidden.max(0) @ found["scores.weight"].T + found["scores.bias"]
    expected = scores - np.log(np.exp(scores).sum())
    assert log_probabilities(trained, "a warm film .") == pytest.approx(expected, abs=1e-5)


# Independence of the neighbours -------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["last", "mean", "max", "attention"])
@pytest.mark.parametrize("bidirectional", ["true", "false"])
def test_neighbours_padding_and_order_change_nothing(
    data: str, pooling: str, bidirectional: str
) -> None:
    settings = [f"model.pooling={pooling}", f"model.bidirectional={bidirectional}"]
    trained = train(data, *settings, "model.characters=cnn", "training.epochs=1")
    given = [text for _, text in texts(13, 4)] + ["a " + "dull film " * 20 + "."]
    alone = [log_probabilities(trained, text) for text in given]
    order = np.random.default_rng(0).permutation(len(given))
    for size in (1, 4, 32):
        found = trained.classify([given[place] for place in order], batch_size=size)
        for place, one in zip(order, found, strict=True):
            row = np.log([one.probabilities[label] for label in trained.task.labels])
            assert row == pytest.approx(alone[place], abs=1e-5)


def test_the_poolings_differ(data: str) -> None:
    poolings = ("last", "mean", "max", "attention")
    runs = [train(data, f"model.pooling={name}", "training.epochs=1") for name in poolings]
    found = {round(run.classify(["a fine film ."])[0].probability, 6) for run in runs}
    assert len(found) == 4


# Contributions ------------------------------------------------------------------------------------


def test_a_contribution_is_what_leaving_the_word_out_costs(trained: TrainedClassifier) -> None:
    words = "a film dull story cast .".split()
    whole = log_probabilities(trained, " ".join(words))
    label = int(whole.argmax())
    found = trained.explain(" ".join(words))
    assert [one.word for one in found] == words
    for place, one in enumerate(found):
        rest = " ".join(words[:place] + words[place + 1 :])
        expected = whole[label] - log_probabilities(trained, rest)[label]
        assert one.contribution == pytest.approx(expected, abs=1e-5)
    assert max(found, key=lambda one: one.contribution or -math.inf).word == "dull"


def test_the_only_word_of_a_text_has_no_contribution(trained: TrainedClassifier) -> None:
    (found,) = trained.explain("dull")
    assert (found.word, found.contribution) == ("dull", None)


# Pairs --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> TrainedClassifier:
    place = tmp_path_factory.mktemp("pairs")
    for seed, split in enumerate(("train", "dev", "test")):
        both = zip(texts(40, seed), texts(40, 10 + seed), strict=True)
        rows = [f"{a}\t{b}\t{'same' if x == y else 'other'}\n" for (x, a), (y, b) in both]
        (place / f"{split}.tsv").write_text("".join(rows))
    return train(str(place), "training.epochs=2")


def test_both_texts_of_a_pair_are_read_by_the_same_encoder(pairs: TrainedClassifier) -> None:
    arrays = pairs.model.arrays()
    weight = arrays["scores.weight"].copy()
    size = weight.shape[1] // 4
    first, second = "a fine film .", "a dull story cast ."
    there, back = (log_probabilities(pairs, both) for both in ((first, second), (second, first)))
    assert there != pytest.approx(back, abs=1e-4)  # [u; v; …] knows which is which
    swapped = np.concatenate(
        [weight[:, size : 2 * size], weight[:, :size], weight[:, 2 * size :]], 1
    )
    pairs.model.load_arrays({**arrays, "scores.weight": swapped})
    try:
        assert log_probabilities(pairs, (second, first)) == pytest.approx(there, abs=1e-5)
    finally:
        pairs.model.load_arrays(arrays)


def test_a_pair_without_its_own_places_is_symmetric(pairs: TrainedClassifier) -> None:
    arrays = pairs.model.arrays()
    weight = arrays["scores.weight"].copy()
    weight[:, : weight.shape[1] // 2] = 0  # only |u - v| and u ∘ v are left
    pairs.model.load_arrays({**arrays, "scores.weight": weight})
    try:
        there = log_probabilities(pairs, ("a fine film .", "a dull story cast ."))
        back = log_probabilities(pairs, ("a dull story cast .", "a fine film ."))
    finally:
        pairs.model.load_arrays(arrays)
    assert there == pytest.approx(back, abs=1e-5)


def test_words_of_both_texts_contribute(pairs: TrainedClassifier) -> None:
    first, second = "a fine film .", "dull"
    whole = log_probabilities(pairs, (first, second))
    label = int(whole.argmax())
    found = pairs.explain((first, second))
    assert [(one.word, one.text) for one in found] == [
        *((word, 1) for word in first.split()),
        ("dull", 2),
    ]
    without = log_probabilities(pairs, ("a film .", second))[label]
    assert found[1].contribution == pytest.approx(whole[label] - without, abs=1e-5)
    assert found[-1].contribution is None


def test_texts_and_pairs_are_not_taken_for_each_other(
    pairs: TrainedClassifier, trained: TrainedClassifier
) -> None:
    with pytest.raises(InputError, match="1 texts; this classifier labels a pair of texts"):
        pairs.classify(["a film ."])
    with pytest.raises(InputError, match="2 texts; this classifier labels a text"):
        trained.classify([("a film .", "another .")])


# Keeping ------------------------------------------------------------------------------------------


def test_what_is_saved_and_loaded_says_the_same(trained: TrainedClassifier, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    loaded = elman.load(tmp_path / "run")
    given = [text for _, text in texts(8, 5)]
    assert loaded.classify(given) == trained.classify(given)
    assert loaded.task.to_data() == trained.task.to_data()


def test_a_stopped_training_goes_on_bit_for_bit(data: str, tmp_path: Path) -> None:
    dropped = ("model.dropout_features=0.3", "model.dropout_pooled=0.3", "training.epochs=3")
    whole = train(data, *dropped, out=tmp_path / "whole")
    with stop_at([7], signal.SIGINT), pytest.raises(Stopped):
        train(data, *dropped, out=tmp_path / "stopped")
    gone_on = resume(tmp_path / "stopped")
    for name, array in whole.model.arrays().items():
        assert array.tobytes() == gone_on.model.arrays()[name].tobytes()


# Trees, phrases and new labels --------------------------------------------------------------------


TREES = """(3 (2 The) (4 (3 Rock) (2 .)))
(1 (2 The) (0 (1 End) (2 .)))
(2 (4 Rock) (2 .))
"""


def read(text: str, *settings: str) -> tuple[list[Example], list[Example]]:
    """What is read, and what is learned of it."""
    rename = ("text.rename.2=", "text.rename.1=bad", "text.rename.0=bad", "text.rename.3=good")
    config = load_recipe("classifier", [*rename, "text.rename.4=good", *settings])
    examples = Classification.read(Document("trees.txt", text), config)
    return examples, Classification.learned(examples)


def test_phrases_are_learned_once_with_each_label_and_only_whole_sentences_judged() -> None:
    examples, learned = read(TREES, "text.phrases=true")
    assert [example.label for example in examples] == ["good", "bad", ""]
    assert [(example.texts[0], example.label) for example in learned] == [
        ("Rock", "good"),  # of two trees
        ("Rock .", "good"),
        ("The Rock .", "good"),
        ("End", "bad"),
        ("End .", "bad"),
        ("The End .", "bad"),
    ]


def test_without_phrases_sentences_are_learned_as_they_come() -> None:
    _, learned = read(TREES + TREES)
    assert [example.texts[0] for example in learned] == ["The Rock .", "The End ."] * 2


def test_the_recipe_of_sst_reads_trees(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text(TREES * 4)
    small = ("model.hidden_size=4", "model.embedding_size=4", "training.epochs=1")
    trained = elman.train("sst2", data=str(tmp_path), overrides=small)
    assert trained.facts["data"]["examples"] == 6
    assert trained.facts["task"]["labels"] == {"negative": 3, "positive": 3}
    assert trained.facts["validation"]["tokens"] == 8
    assert trained.evaluate(str(tmp_path)).labels.count == 8


def test_phrases_of_what_is_held_out_are_not_learned(tmp_path: Path) -> None:
    (tmp_path / "trees.txt").write_text(TREES * 9 + "(0 (1 Unheard) (2 .))\n" * 3)
    small = ("model.hidden_size=4", "model.embedding_size=4", "training.epochs=1")
    trained = elman.train("sst2", data=str(tmp_path / "trees.txt"), overrides=small)
    assert "unheard" not in trained.task.words.words


def test_the_sum_of_operations_counts_words(trained: TrainedClassifier) -> None:
    words = [len(text.split()) for _, text in texts(80, 0)]
    assert trained.task.length == pytest.approx(sum(words) / 80)
    scores = trained.model.scores.weight.numel()
    stack = sum(
        p.numel() for n, p in trained.model.named_parameters() if "stack" in n and p.dim() == 2
    )
    expected = trained.task.length * stack + scores
    assert trained.model.multiplications(8) == pytest.approx(expected, abs=1)


# Bad input ----------------------------------------------------------------------------------------


def test_a_label_that_training_never_saw_is_noted_and_wrong(
    trained: TrainedClassifier, tmp_path: Path
) -> None:
    rows = [*texts(9, 6), ("odd", "a film ."), ("odd", "a cast .")]
    measures = trained.evaluate(write(tmp_path, test=rows))
    assert measures.unseen == {"odd": 2}
    assert measures.labels.labels["odd"].recall == 0
    assert measures.labels.accuracy <= 9 / 11
    assert measures.notes() == [
        "2 texts have the label 'odd', which training never saw: counted as wrong"
    ]


def test_a_label_only_in_validation_is_always_wrong(tmp_path: Path) -> None:
    place = write(tmp_path, train=texts(20, 0), valid=[("odd", "a film .")] * 4)
    assert train(place, "training.epochs=1").facts["validation"]["error"] == 1


def test_an_empty_text_is_refused(trained: TrainedClassifier) -> None:
    with pytest.raises(InputError, match="text 2 is empty"):
        trained.classify(["a film .", " "])


def test_one_label_is_too_few(tmp_path: Path) -> None:
    place = write(tmp_path, train=[("good", "a film .")] * 9, valid=texts(4, 0))
    with pytest.raises(InputError, match="every training text has the label 'good'"):
        train(place)


def test_texts_and_pairs_do_not_mix(tmp_path: Path) -> None:
    rows = '{"text": "a", "label": "x"}\n{"text": "b", "text2": "c", "label": "y"}\n' * 5
    for split in ("train", "valid"):
        (tmp_path / f"{split}.jsonl").write_text(rows)
    with pytest.raises(InputError, match="give single texts or pairs, not both"):
        train(str(tmp_path))


def test_leaving_out_everything_is_refused() -> None:
    with pytest.raises(InputError, match="text.rename leaves out every example"):
        read("2 a film\n2 another\n")
