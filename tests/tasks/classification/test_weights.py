"""Weights of examples and labels: in the loss, from tables, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from films import SMALL, draw_texts, train_classifier

from elman.errors import InputError
from elman.models.contract import Loss
from elman.recipes import load_recipe
from elman.tasks.classification.reader import Example, read_labelled
from elman.tasks.classification.task import Classification
from elman.tasks.classification.weights import balanced_weights
from elman.text.reader import Document

pytestmark = pytest.mark.usefixtures("without_curves")
LINES = [("good", "a fine film ."), ("bad", "a dull cast ."), ("bad", "a weak story .")]
NGRAMS = "model.ngrams=64"


def drawn(count: int = 12) -> list[Example]:
    return [Example((text,), label) for label, text in draw_texts(count, 0)]


def weighted(weights: list[float]) -> list[Example]:
    return [
        Example(example.texts, example.label, weight=weight)
        for example, weight in zip(drawn(len(weights)), weights, strict=True)
    ]


def make_task(*overrides: str) -> Classification:
    """The same task for all examples, so that only weights can change a loss."""
    settings = [*SMALL, NGRAMS, *overrides]
    return Classification.learn(drawn(), load_recipe("classifier", settings))


def loss_of(task: Classification, examples: list[Example], seed: int | None = 0) -> Loss:
    """The loss of one batch of all examples by a fresh model."""
    torch.manual_seed(0)
    model = task.build().eval()
    with torch.no_grad():
        batch = task.batches(examples, 100, seed).next()
        assert isinstance(model.loss(batch)[0], Loss)
        loss: Loss = (model.judge if seed is None else model.loss)(batch)[0]
    return loss


def mean(loss: Loss) -> float:
    """What training minimises."""
    return float(loss.nats / loss.tokens + loss.penalty)


def repeated_and_weighted() -> tuple[list[Example], list[Example]]:
    """Examples of which two are repeated, and the same examples with weights instead."""
    examples, weights = drawn(), [1.0] * 12
    weights[3], weights[7] = 3.0, 2.0
    return [*examples, examples[3], examples[3], examples[7]], weighted(weights)


def test_weight_two_counts_like_the_example_twice() -> None:
    task = make_task()
    examples, (twice, heavy) = drawn(), repeated_and_weighted()
    assert mean(loss_of(task, heavy)) == pytest.approx(mean(loss_of(task, twice)), rel=1e-6)
    assert mean(loss_of(task, examples)) != pytest.approx(mean(loss_of(task, twice)), rel=1e-4)


def test_weights_count_in_the_fit_of_n_grams_too() -> None:
    task = make_task()
    examples, (twice, heavy) = drawn(), repeated_and_weighted()

    def fitted(given: list[Example], cost: float) -> torch.Tensor:
        task.config.model.ngram_cost = cost
        model = task.build()
        with pytest.MonkeyPatch.context() as patch:  # texts are counted without weights
            patch.setattr("elman.layers.ngram_scores.NgramScores.count", lambda *given: None)
            task.learn_at_once(model, given, math.inf, lambda what: None)
        (scores,) = model.ngrams
        return torch.cat([scores.weights, scores.bias.unsqueeze(0)])

    # Weights are 1 on average.
    found, copied = fitted(heavy, 15 / 12), fitted(twice, 1.0)
    torch.testing.assert_close(found, copied, atol=2e-3, rtol=0)
    assert not torch.allclose(found, fitted(examples, 1.0), atol=2e-3)


def test_only_ratios_of_weights_matter() -> None:
    task = make_task()
    some = [1.0, 2.0, 0.5] * 4
    assert mean(loss_of(task, weighted(some))) == pytest.approx(
        mean(loss_of(task, weighted([10 * weight for weight in some]))), rel=1e-6
    )
    alike = loss_of(task, weighted([0.3] * 12))
    assert mean(alike) == mean(loss_of(task, drawn()))  # to the bit


def test_class_weights_count_like_example_weights() -> None:
    named = make_task("training.class_weights.good=3")
    assert named.facts(drawn())["class_weights"] == {"bad": 1.0, "good": 3.0}
    weights = [3.0 if example.label == "good" else 1.0 for example in drawn()]
    assert mean(loss_of(named, drawn())) == pytest.approx(
        mean(loss_of(make_task(), weighted(weights))), rel=1e-6
    )
    assert mean(loss_of(named, drawn())) != pytest.approx(mean(loss_of(make_task(), drawn())))


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    compute = pytest.importorskip("sklearn.utils.class_weight").compute_class_weight
    random = np.random.default_rng(1)
    labels = random.choice(["a", "b", "c"], 50, p=[0.7, 0.2, 0.1])
    weights = random.integers(1, 4, 50)
    examples = [Example(("x",), str(label)) for label in labels]
    expected = compute("balanced", classes=np.unique(labels), y=labels)
    assert [*balanced_weights(examples).values()] == pytest.approx(expected)
    several = [
        Example(("x",), str(label), weight=float(weight))
        for label, weight in zip(labels, weights, strict=True)
    ]
    copied = np.repeat(labels, weights)
    expected = compute("balanced", classes=np.unique(labels), y=copied)
    assert [*balanced_weights(several).values()] == pytest.approx(expected)


def test_validation_has_weights_only_if_the_examples_have() -> None:
    task = make_task("training.class_weights=balanced")
    plain = loss_of(task, drawn(), seed=None)
    assert float(plain.nats) == int(plain.nats)  # errors
    model = task.build()
    torch.manual_seed(0)
    some = weighted([1.0, 5.0] * 6)
    batch = task.batches(some, 100, None).next()
    wrong = model.eval().score(batch.inputs).argmax(1) != batch.targets
    judged, _ = model.judge(batch)
    assert float(judged.nats) == pytest.approx(float(batch.weights[wrong].sum()))
    assert judged.tokens == pytest.approx(float(batch.weights.sum())) == 12


def table(weights: list[str], header: str = "text\tlabel\tweight") -> Document:
    rows = [
        f"{text}\t{label}\t{weight}" for (label, text), weight in zip(LINES, weights, strict=True)
    ]
    return Document("films.tsv", "\n".join([header, *rows]))


def test_a_table_may_have_a_column_of_weights() -> None:
    document = table(["1", "2.5", "1e-3"])
    assert [example.weight for example in read_labelled(document)] == [1, 2.5, 0.001]
    assert "weight = weight" in document.notes[0]
    named = {"text": "text", "label": "label", "weight": "trust"}
    document = table(["1", "2", "3"], "text\tlabel\ttrust")
    assert [one.weight for one in read_labelled(document, columns=named)] == [1, 2, 3]
    assert [one.weight for one in read_labelled(document)] == [1, 1, 1]
    lines = '{"text": "a b", "label": "x", "weight": 2}\n{"text": "c d", "label": "y", "weight": 1}'
    assert [one.weight for one in read_labelled(Document("films.jsonl", lines))] == [2, 1]


def test_weight_zero_is_absence() -> None:
    document = table(["1", "0", "2"])
    examples = read_labelled(document)
    assert [example.texts[0] for example in examples] == ["a fine film .", "a weak story ."]
    assert document.notes[1] == "films.tsv: texts with the weight 0, which are left out: 1"
    with pytest.raises(InputError, match="films.tsv: every text has the weight 0"):
        read_labelled(table(["0", "0", "0.0"]))


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        ("-1", "line 3: the weight -1 must be a number from 0"),
        ("nan", "line 3: the weight nan must be a number from 0"),
        ("inf", "line 3: the weight inf must be a number from 0"),
        ("much", "line 3: the weight 'much' is not a number"),
        ("", "line 3: the weight '' is not a number"),
    ],
)
def test_wrong_weights_are_refused(weight: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"films.tsv, {problem}"):
        read_labelled(table(["1", weight, "2"]))


def test_a_line_without_a_weight_is_refused() -> None:
    lines = '{"text": "a b", "label": "x", "weight": 2}\n{"text": "c d", "label": "y"}'
    with pytest.raises(InputError, match="line 2: the weight None is not a number"):
        read_labelled(Document("films.jsonl", lines))


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("=often", "class_weights=often: must be balanced, or a table"),
        (".good=-1", r"class_weights.good=-1.0: must be above 0"),
        (".good=nan", r"class_weights.good=nan: must be above 0"),
        (".good=much", r"class_weights.good='much': expected a number"),
    ],
)
def test_wrong_class_weights_are_refused(setting: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_recipe("classifier", [f"training.class_weights{setting}"])


def test_an_unknown_label_is_refused() -> None:
    task = make_task("training.class_weights={gud = 2.0}")
    with pytest.raises(InputError, match="has the label 'gud'; did you mean 'good'"):
        task.batches(drawn(), 8, 0)


def test_only_a_classifier_has_class_weights(data: str) -> None:
    import elman

    with pytest.raises(InputError, match="only a classifier has weights of labels"):
        elman.train("quick", data="grammar", overrides=["training.class_weights=balanced"])


def write(folder: Path, **splits: list[tuple[str, str, float]]) -> str:
    for split, rows in splits.items():
        weighs = split == "train"
        header = "body\tmood\ttrust\n" if weighs else "body\tmood\n"
        lines = [
            f"{text}\t{label}\t{weight}\n" if weighs else f"{text}\t{label}\n"
            for label, text, weight in rows
        ]
        (folder / f"{split}.tsv").write_text(header + "".join(lines))
    return str(folder)


def test_weights_of_a_training_file_decide_and_are_remembered(tmp_path: Path) -> None:
    """Every text is there with both labels; the weights say which one counts."""
    rows = [
        (label, text, 5.0 if label == right else 0.5)
        for right, text in draw_texts(60, 0)
        for label in ("good", "bad")
    ]
    others = [(label, text, 1.0) for label, text in draw_texts(20, 1)]
    data = write(tmp_path, train=rows, valid=others, test=others)
    columns = 'text.columns={text = "body", label = "mood", weight = "trust"}'
    trained = train_classifier(data, columns, out=tmp_path / "run")
    assert trained.facts["data"]["columns"]["weight"] == "trust"
    assert trained.evaluate(data).to_data()["accuracy"] > 0.9
    assert trained.text_columns(Document("new.tsv", "body\tmood\na b\tgood"), {}) == {
        "text": "body"
    }
    with pytest.raises(InputError, match="train.tsv: has no column 'truth' for the weight"):
        train_classifier(data, columns.replace("trust", "truth"))
