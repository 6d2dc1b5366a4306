"""Surprisal in tables: DataFrames, lists of sentences, spill-over."""

from pathlib import Path

import numpy as np
import pytest

from elman.errors import InputError
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import train

pandas = pytest.importorskip("pandas")
SENTENCES = ["the cats sleep .", "a dog sees the cats .", "the cats sleep .", "the"]
TEXT = "the cats sleep .\nthe cat sleeps .\na dog sees the cats .\na cat sees the dogs .\n" * 8


@pytest.fixture(scope="module", params=["words", "characters", "bpe"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    data = tmp_path_factory.mktemp("data") / "text.txt"
    data.write_text(TEXT)
    settings = [f"text.tokenizer={request.param}", "model.order=3"]
    return train("ngram", data=str(data), overrides=settings, kind=TrainedModel)


def test_a_list_of_sentences_is_a_table_of_words(model: TrainedModel) -> None:
    table = model.surprisal_table(SENTENCES)
    assert list(table.columns) == [
        "sentence", "position", "word", "surprisal", "surprisal_uncorrected", "entropy", "tokens",
        "unknown",
    ]  # fmt: skip
    assert table.word.tolist() == " ".join(SENTENCES).split()
    for number, sentence in enumerate(SENTENCES, 1):
        rows = model.surprisal(sentence)
        own = table[table.sentence == number]
        for name in ("surprisal", "surprisal_uncorrected", "entropy"):
            expected = [getattr(row, name) for row in rows]
            assert own[name].tolist() == pytest.approx(expected)
        assert own.tokens.tolist() == [row.tokens for row in rows]


def test_a_frame_keeps_its_rows_and_types(model: TrainedModel) -> None:
    frame = pandas.DataFrame(
        {"item": [1, 1, 1, 2, 2], "word": ["the", None, "cats", "a", "dog"], "rt": [1.5] * 5},
        index=[7, 8, 9, 10, 11],
    )
    table = model.surprisal_table(frame, entropy=False, spillover=2)
    assert frame.columns.tolist() == ["item", "word", "rt"]  # not changed
    assert table.index.tolist() == frame.index.tolist()
    assert table[["item", "word", "rt"]].equals(frame)
    assert "entropy" not in table
    values = table.surprisal.tolist()
    assert np.isnan(values[1])
    missing = float("nan")
    assert table.surprisal_previous_1.tolist() == pytest.approx(
        [missing, values[0], missing, missing, values[3]], nan_ok=True
    )
    assert table.surprisal_previous_2.tolist() == pytest.approx(
        [missing, missing, values[0], missing, missing], nan_ok=True
    )
    assert table.tokens.isna().tolist() == [False, True, False, False, False]


def test_sentences_in_a_frame_are_sums(model: TrainedModel) -> None:
    frame = pandas.DataFrame({"stimulus": [*SENTENCES, ""]})
    table = model.surprisal_table(frame, base=np.e)
    for sentence, total in zip(SENTENCES, table.surprisal, strict=False):
        rows = model.surprisal(sentence, base=np.e)
        assert total == pytest.approx(sum(row.surprisal for row in rows))
    assert np.isnan(table.surprisal.iloc[-1])
    with pytest.raises(InputError, match="one word per row"):
        model.surprisal_table(frame, spillover=1)


def test_next_words_in_a_table(model: TrainedModel) -> None:
    table = model.surprisal_table(SENTENCES[:2], next_word=True, beam=50)
    rows = [row for text in SENTENCES[:2] for row in model.surprisal(text, next_word=True, beam=50)]
    assert table.next_word_entropy.tolist() == pytest.approx([r.next_word_entropy for r in rows])
    assert table.remaining_mass.tolist() == pytest.approx([r.remaining_mass for r in rows])
    assert table.word_rank.isna().tolist() == [r.word_rank is None for r in rows]
    ends = [number for number, row in enumerate(rows) if row.entropy_reduction is not None]
    assert table.entropy_reduction.iloc[ends].tolist() == pytest.approx(
        [rows[number].entropy_reduction for number in ends]
    )


def test_equal_sentences_are_scored_once(
    model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for name in ("score", "score_and_mass"):
        whole = getattr(type(model.model), name)

        def counted(self: object, ids: object, *rest: object, _whole: object = whole) -> object:
            seen.append(len(ids))
            return _whole(self, ids, *rest)

        monkeypatch.setattr(type(model.model), name, counted)
    expected = model.surprisal_table(SENTENCES[:1], entropy=False).surprisal.tolist()
    once = max(seen)
    table = model.surprisal_table(SENTENCES[:1] * 50, entropy=False)
    assert max(seen) == once
    assert table.surprisal.tolist() == expected * 50


@pytest.mark.parametrize(
    ("table", "options", "reason"),
    [
        ("the cats", {}, "not one text"),
        (["the", 3], {}, "sentence 2 is not a text"),
        (["the"], {"column": "x"}, "leave them out"),
        (pandas.DataFrame({"x": ["a"]}), {}, "name the one with the text"),
        (pandas.DataFrame({"text": ["a"], "surprisal": [1]}), {}, "already has a column"),
        (pandas.DataFrame({"text": []}), {}, "no rows"),
    ],
)
def test_refusals(model: TrainedModel, table: object, options: dict, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        model.surprisal_table(table, **options)


def test_a_table_with_semicolons_keeps_them(
    model: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from elman.cli import run

    model.save(tmp_path / "run")
    (tmp_path / "rt.csv").write_text("item;word;rt\n1;the;312,5\n1;cats;290,0\n")
    asked = ["surprisal", str(tmp_path / "run"), str(tmp_path / "rt.csv")]
    assert run(asked) == 0
    printed = capsys.readouterr().out
    assert run([*asked, "--out", str(tmp_path / "joined.csv")]) == 0
    assert (tmp_path / "joined.csv").read_text() == printed
    assert printed.splitlines()[1].startswith("1;the;312,5;")


def test_parquet_and_csv(
    model: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    from elman.cli import run

    model.save(tmp_path / "run")
    frame = pandas.DataFrame({"item": [1, 1, 2], "word": ["the", 'c,"ats"', "a"], "rt": [1, 2, 3]})
    frame.to_parquet(tmp_path / "words.parquet")
    frame.to_csv(tmp_path / "words.csv", index=False)
    expected = model.surprisal_table(frame, spillover=1)
    for name in ("words.parquet", "words.csv"):
        for out in ("a.parquet", "a.csv", "a.tsv"):
            place = tmp_path / out
            asked = ["--spillover", "1", "--out", str(place)]
            assert run(["surprisal", str(tmp_path / "run"), str(tmp_path / name), *asked]) == 0
            assert capsys.readouterr().out == ""
            if out.endswith("parquet"):
                found = pandas.read_parquet(place)
            else:
                tabs = {"sep": "\t", "quoting": 3} if out.endswith("tsv") else {}
                found = pandas.read_csv(place, **tabs)
            assert found.word.tolist() == frame.word.tolist()
            assert found.surprisal.tolist() == pytest.approx(expected.surprisal, abs=1e-5)
            assert found.surprisal_previous_1.isna().tolist() == [True, False, True]
