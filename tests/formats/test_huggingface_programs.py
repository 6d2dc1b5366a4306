"""Other programs with an exported folder: lm-eval, minicons and the Trainer of transformers.

BLiMP as lm-eval scores it is BLiMP as `elman minimal-pairs` scores it. A line end belongs to a
sentence in elman, so the task adds a newline to both sentences.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from films import draw_texts, train_classifier, write_texts

import elman
from elman.tasks.language_modelling.minimal_pairs import judge, read_materials

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
PARADIGMS = ("anaphor_gender_agreement", "determiner_noun_agreement_1", "wh_island")
PAIRS = 150
SETTINGS = ["text.tokenizer=bpe", "text.vocabulary_size=600"]
RUNS = {
    "ngram": ("ngram", ["model.order=4"]),
    "recurrent": (
        "quick",
        ["model.hidden_size=32", "model.embedding_size=32", "training.epochs=1"],
    ),
}
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: ""
doc_to_target: 0
doc_to_choice: "{{{{[sentence_good + '\\n', sentence_bad + '\\n']}}}}"
target_delimiter: ""
metric_list:
  - metric: acc
"""


@pytest.fixture(scope="module", params=RUNS)
def folders(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shakespeare: Path
) -> tuple[Path, Path]:
    """A run and its exported folder."""
    place = tmp_path_factory.mktemp(request.param)
    text = place / "text.txt"
    text.write_text(shakespeare.read_text()[:200_000])
    recipe, settings = RUNS[request.param]
    run = elman.train(recipe, data=str(text), out=place / "run", overrides=[*SETTINGS, *settings])
    run.export(place / "hub", "huggingface")
    return place / "run", place / "hub"


def write_pairs(blimp: Path, place: Path) -> dict[str, Path]:
    files = {}
    for name in PARADIGMS:
        with gzip.open(blimp / "data" / f"{name}.jsonl.gz", "rt") as lines:
            chosen = [json.loads(line) for _, line in zip(range(PAIRS), lines, strict=False)]
        files[name] = place / f"{name}.jsonl"
        files[name].write_text("".join(json.dumps(pair) + "\n" for pair in chosen))
    return files


def test_lm_eval_gives_the_accuracies_of_minimal_pairs(
    folders: tuple[Path, Path], corpus: Callable[[str], Path], tmp_path: Path
) -> None:
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.tasks import TaskManager

    run, hub = folders
    files = write_pairs(corpus("blimp"), tmp_path)
    for name, file in files.items():
        (tmp_path / f"{name}.yaml").write_text(TASK.format(name=f"own_{name}", file=file))
    found = lm_eval.simple_evaluate(
        model="hf",
        model_args=f"pretrained={hub},tokenizer={hub},trust_remote_code=True",
        tasks=[f"own_{name}" for name in PARADIGMS],
        task_manager=TaskManager(include_path=str(tmp_path)),
        device="cpu",
        batch_size=16,
        bootstrap_iters=0,
    )["results"]
    trained = elman.load(run)
    for name, file in files.items():
        own = judge(trained, read_materials(str(file)))
        print(name, own.overall.accuracy, found[f"own_{name}"]["acc,none"])
        assert found[f"own_{name}"]["acc,none"] == pytest.approx(own.overall.accuracy, abs=1e-9)


def test_minicons_gives_the_log_probabilities_of_elman(folders: tuple[Path, Path]) -> None:
    scorer = pytest.importorskip("minicons.scorer")
    run, hub = folders
    model = scorer.IncrementalLMScorer(str(hub), "cpu", trust_remote_code=True)
    texts = ["What say you to that , my lord ?", "the king"]
    found = model.sequence_score(texts, reduction=lambda x: x.sum(0).item(), bos_token=True)
    trained = elman.load(run)
    for text, score in zip(texts, found, strict=True):
        ids = torch.from_numpy(trained.tokenizer.encode(text))[None]
        expected, _ = trained.model.score(ids, trained.model.start(1))
        assert score == pytest.approx(float(expected.sum()), abs=1e-4)


def test_the_trainer_improves_a_neural_model(folders: tuple[Path, Path], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    run, hub = folders
    if run.parent.name.startswith("ngram"):
        pytest.skip("an n-gram model has no gradients")
    trust: dict[str, Any] = {"trust_remote_code": True}
    tokenizer = transformers.AutoTokenizer.from_pretrained(hub, **trust)
    model = transformers.AutoModelForCausalLM.from_pretrained(hub, **trust)
    lines = ["to be , or not to be :\n", "that is the question\n"] * 8
    data = [{"input_ids": tokenizer(line).input_ids} for line in lines]
    collate = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)
    arguments = transformers.TrainingArguments(
        str(tmp_path / "tuned"),
        num_train_epochs=5,
        per_device_train_batch_size=4,
        learning_rate=0.01,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
    )
    trainer = transformers.Trainer(model, arguments, data_collator=collate, train_dataset=data)
    before = trainer.evaluate(data)["eval_loss"]
    trainer.train()
    after = trainer.evaluate(data)["eval_loss"]
    assert after < before - 1
    trainer.save_model(str(tmp_path / "saved"))
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved", **trust)
    ids = torch.tensor([tokenizer(lines[0]).input_ids])
    torch.testing.assert_close(again(ids).logits, model.eval()(ids).logits)


def test_the_trainer_improves_a_classifier_that_reads_characters(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    texts = draw_texts(40, 0)
    data = write_texts(tmp_path / "data", train=texts, valid=texts)
    settings = ["model.ngrams=64", "model.characters=affixes", "training.epochs=0.2"]
    train_classifier(data, *settings).export(tmp_path / "hub", "huggingface")
    trust: dict[str, Any] = {"trust_remote_code": True}
    load = transformers.AutoModelForSequenceClassification.from_pretrained
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hub", **trust)
    model = load(tmp_path / "hub", **trust)
    rows = [{**tokenizer(text), "labels": model.config.label2id[label]} for label, text in texts]
    arguments = transformers.TrainingArguments(
        str(tmp_path / "tuned"),
        num_train_epochs=10,
        per_device_train_batch_size=8,
        learning_rate=0.02,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
    )
    collate = transformers.DataCollatorWithPadding(tokenizer)
    trainer = transformers.Trainer(
        model, arguments, data_collator=collate, train_dataset=rows, processing_class=tokenizer
    )
    before = trainer.evaluate(rows)["eval_loss"]
    trainer.train()
    assert trainer.evaluate(rows)["eval_loss"] < before / 2
    trainer.save_model(str(tmp_path / "saved"))
    pipe = transformers.pipeline("text-classification", model=str(tmp_path / "saved"), **trust)
    found = pipe([text for _, text in texts], batch_size=8)
    assert sum(one["label"] == label for one, (label, _) in zip(found, texts, strict=True)) > 35
