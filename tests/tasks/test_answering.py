"""Question answering as a task: training, saving, resuming; and it learns facts."""

import json
from pathlib import Path
from typing import Any

import pytest
from facts import squad, write_facts
from outcome import differences, outcome

import elman
from elman.errors import InputError
from elman.tasks.answering.task import TrainedAnswerer, measure_answers
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

SMALL = [
    "model.num_layers=1",
    "model.hidden_size=40",
    "model.embedding_size=30",
    "model.spelling_size=20",
    "training.learning_rate=0.005",
]
TINY = [
    "model.num_layers=2",
    "model.hidden_size=5",
    "model.embedding_size=4",
    "model.spelling_size=3",
    "training.batch_size=8",
    "training.epochs=2",
]
PASSAGE = "Ada took the old lamp. Otto went to the park."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few facts and a run that was trained on them."""
    place = tmp_path_factory.mktemp("answering")
    write_facts(place / "facts", train=8, valid=3, test=3)
    return place


@pytest.fixture(scope="module")
def trained(place: Path, without_curves: None) -> TrainedAnswerer:
    model: Any = elman.train(
        "answerer", data=str(place / "facts"), out=place / "run", overrides=TINY
    )
    return model


def test_what_training_tells(trained: TrainedAnswerer) -> None:
    assert trained.facts["task"] == {"passages": 8, "left_out": 0, "answers_too_long": 0}
    assert (trained.facts["data"]["examples"], trained.facts["data"]["unit"]) == (48, "questions")
    (note,) = trained.facts["data"]["notes"]
    assert note.startswith("only 18 questions to validate on")
    assert trained.facts["validation"]["tokens"] == 18  # a question is one thing to get right
    assert trained.facts["training"]["tokens"] == 96


def test_words_of_a_passage_count_once_however_much_is_asked_about_it(
    trained: TrainedAnswerer,
) -> None:
    words = trained.task.words
    assert words.counts[words.ids(["."])] == 8 * 4  # sentences
    assert words.counts[words.ids(["?"])] == 48  # questions


def test_an_answer_is_a_part_of_the_passage(trained: TrainedAnswerer) -> None:
    found = trained.answer("Who has the lamp?", PASSAGE)
    assert found.text == PASSAGE[found.start : found.end]
    assert found.text
    assert 0 < found.probability < 1
    assert trained.answer("?", "one").text == "one"
    assert trained.answer("?", "one").probability == pytest.approx(1)


def test_answers_do_not_depend_on_what_is_asked_beside(trained: TrainedAnswerer) -> None:
    asked = trained.examples(trained.facts["data"]["name"])
    pairs = [(example.question.text, example.passage.text) for example in asked]
    pairs += [("Who?", "Ada."), ("What is the name of the town that Otto went to?", PASSAGE * 3)]
    all_at_once = trained.answer_all(pairs)
    for batch_size in (1, 4):
        again = trained.answer_all(pairs[::-1], batch_size=batch_size)[::-1]
        assert [(a.text, a.start) for a in again] == [(a.text, a.start) for a in all_at_once]
        assert [a.probability for a in again] == pytest.approx(
            [a.probability for a in all_at_once], rel=1e-4
        )
    assert len({answer.start for answer in all_at_once}) > 2


def test_the_run_comes_back(trained: TrainedAnswerer, place: Path, tmp_path: Path) -> None:
    loaded = elman.load(place / "run")
    assert isinstance(loaded, TrainedAnswerer)
    assert loaded.answer("Who?", PASSAGE) == trained.answer("Who?", PASSAGE)
    loaded.save(tmp_path / "copy")
    assert elman.load(tmp_path / "copy").answer("Who?", PASSAGE) == trained.answer("Who?", PASSAGE)


def test_measures(trained: TrainedAnswerer, place: Path) -> None:
    measures: Any = trained.evaluate(str(place / "facts"))
    examples = trained.examples(str(place / "facts"))
    found = [trained.answer(one.question.text, one.passage.text).text for one in examples]
    assert measures == measure_answers([[one.answers[0].text] for one in examples], found)
    assert measures.questions == 18


def test_a_stopped_run_goes_on_bit_for_bit(
    place: Path, tmp_path: Path, stopping: list[int], trained: TrainedAnswerer
) -> None:
    stopping.append(5)
    with pytest.raises(Stopped):
        elman.train("answerer", data=str(place / "facts"), out=tmp_path / "stopped", overrides=TINY)
    stopping.clear()
    resume(tmp_path / "stopped")
    assert differences(outcome(tmp_path / "stopped"), outcome(place / "run")) == []


def test_questions_without_an_answer_are_left_out_and_counted(tmp_path: Path) -> None:
    tree = squad(10, seed=1)
    for paragraph in tree["data"][0]["paragraphs"]:
        paragraph["qas"][0] |= {"is_impossible": True, "answers": []}
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(tree))
    model: Any = elman.train("answerer", data=str(file), overrides=[*TINY, "training.epochs=0.2"])
    assert model.facts["task"]["left_out"] == 8  # of 48 questions on 8 of 10 passages
    notes = model.facts["data"]["notes"]
    assert any("10 of 60 questions have no answer in their passage" in note for note in notes)
    measures = model.evaluate(str(file), split="train")
    assert (measures.questions, measures.left_out) == (40, 8)
    assert ("left out (no answer)", 8) in measures.rows()


@pytest.mark.parametrize(
    ("question", "passage", "line"),
    [
        ("", PASSAGE, "question is empty; ask something"),
        (" \n", PASSAGE, "question is empty; ask something"),
        ("Who?", " ", "the passage of question is empty; give some text"),
    ],
)
def test_nothing_is_no_question(
    trained: TrainedAnswerer, question: str, passage: str, line: str
) -> None:
    with pytest.raises(InputError, match=f"^{line}$"):
        trained.answer(question, passage)
    with pytest.raises(InputError, match=" 2 is empty"):
        trained.answer_all([("Who?", PASSAGE), (question, passage)])


def test_nothing_to_validate_on_is_refused(tmp_path: Path) -> None:
    write_facts(tmp_path, train=2, valid=1)
    tree = squad(1, seed=1)
    for entry in tree["data"][0]["paragraphs"][0]["qas"]:
        entry["is_impossible"] = True
    (tmp_path / "valid.json").write_text(json.dumps(tree))
    with pytest.raises(InputError, match="valid.json: no question has an answer"):
        elman.train("answerer", data=str(tmp_path), overrides=TINY)


def test_it_begins_to_learn_facts(tmp_path: Path) -> None:
    """In seconds: most of it, where chance would be one span in some hundred."""
    data = write_facts(tmp_path / "facts", train=60, valid=20, test=40)
    model: Any = elman.train("answerer", data=str(data), overrides=[*SMALL, "training.epochs=5"])
    assert model.evaluate(str(data)).exact_match > 0.8


@pytest.mark.slow
def test_it_learns_facts(tmp_path: Path) -> None:
    """More than 95 % of the questions on passages it never saw, with names it never saw."""
    data = write_facts(tmp_path / "facts", train=300, valid=50, test=100)
    model: Any = elman.train("answerer", data=str(data), overrides=[*SMALL, "training.epochs=6"])
    measures = model.evaluate(str(data))
    assert measures.exact_match > 0.95
    assert measures.f1 >= measures.exact_match
    assert model.answer("What has Zelda?", "Karl took the hat. Zelda took the new key.").text == (
        "the new key"
    )


@pytest.mark.slow
@pytest.mark.parametrize("passages", [17, 84])  # 102 and 504 questions
def test_the_recipe_learns_from_few_questions(passages: int, tmp_path: Path) -> None:
    """No setting is changed; some names of the test never come in training."""
    data = write_facts(tmp_path / "facts", train=passages, valid=30, test=100)
    model: Any = elman.train("answerer", data=str(data))
    assert model.facts["training"]["ended_early"]  # all answers of the validation were right
    assert model.evaluate(str(data)).exact_match > 0.95


def test_lists_and_other_types_are_refused(trained: TrainedAnswerer) -> None:
    model: Any = trained
    with pytest.raises(InputError, match="question: give one text, not a list"):
        model.answer(["Who?"], PASSAGE)
    with pytest.raises(InputError, match="passage is of type NoneType; give a text"):
        model.answer("Who?", None)
    with pytest.raises(InputError, match="pairs is a single text; give a list of pairs"):
        model.answer_all("Who?")
    with pytest.raises(InputError, match=r"pairs\[0\] is not a pair"):
        model.answer_all(["ab"])
    with pytest.raises(InputError, match="the passage of question 1 is of type int"):
        model.answer_all([("Who?", 3)])
