"""Every command splits typed text in the same way."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest

import elman
from elman.tasks.language_modelling.trained import TrainedModel

# Tokenized as WikiText is.
LINES = (
    "He didn 't see the house , but John 's dog did .",
    "The dog isn 't here ; the house isn 't John 's .",
    '" No , " he said . " The well @-@ known café did . "',
    "Mr. X , the dog , did see the house ( not here ) .",
)
TYPED = "He didn't see the house, but John's dog isn't here."
TOKENS = "He didn 't see the house , but John 's dog isn 't here .".split()


@pytest.fixture(scope="module")
def typed_run(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    folder = tmp_path_factory.mktemp("typed")
    (folder / "text.txt").write_text("\n".join(LINES * 40) + "\n", "utf-8")
    elman.train("ngram", data=str(folder / "text.txt"), out=folder / "run")
    return elman.load(folder / "run")  # type: ignore[no-any-return]


def test_surprisal_finds_every_word(typed_run: TrainedModel) -> None:
    rows = typed_run.surprisal(TYPED)
    assert [row.word for row in rows] == TYPED.split()
    assert [row.tokens for row in rows] == [1, 2, 1, 1, 2, 1, 2, 1, 2, 2]
    assert not any(row.unknown for row in rows)
    tokenized = typed_run.surprisal(" ".join(TOKENS))
    assert sum(row.surprisal for row in rows) == pytest.approx(
        sum(row.surprisal for row in tokenized)
    )


def test_tables_pairs_and_prompts_see_the_same_tokens(typed_run: TrainedModel) -> None:
    tokenizer = typed_run.tokenizer
    ids = [tokenizer.tokens.index(token) for token in TOKENS]
    assert tokenizer.encode_typed(TYPED).tolist() == ids
    assert tokenizer.prepare(TYPED).split() == TOKENS
    (generated,) = typed_run.generate(TYPED, max_tokens=1)
    assert generated.text.startswith(TYPED)


def test_generated_text_is_written_as_people_write(typed_run: TrainedModel) -> None:
    for seed in range(5):
        (generated,) = typed_run.generate("He", max_tokens=40, seed=seed)
        for apart in (" 't", " 's", " ,", " .", "( ", "@"):
            assert apart not in generated.text
        streamed = "".join(typed_run.stream("He", max_tokens=40, seed=seed))
        assert "He" + streamed == generated.text
        again = typed_run.tokenizer.encode_typed(generated.text).tolist()
        tokens = [typed_run.tokenizer.tokens[number] for number in again][1:]
        assert tokens[:35] == generated.tokens[:35]  # the last word may be cut: well @-@


def test_a_table_is_joined_with_its_unknown_words_reported(
    typed_run: TrainedModel, tmp_path: Path, call: Any
) -> None:
    table = tmp_path / "stimuli.tsv"
    rows = [f"1\t{word}" for word in [*TYPED.split(), "None", "zebra"]]
    table.write_text("\n".join(["item\tword", *rows]) + "\n")
    printed = call("surprisal", typed_run.name, str(table))
    assert printed.code == 0, printed.err
    lines = [line.split("\t") for line in printed.out.splitlines()]
    assert [line[-1] for line in lines[1:]] == ["0"] * 10 + ["1", "1"]
    assert "WARNING: 2 of 12 words (16.7%) are out of vocabulary" in printed.err
    table.write_text("item\tsentence\n1\tHe didn't see the house.\n")
    assert (
        "0 of 5 words (0.0%) are out of vocabulary"
        in call("surprisal", typed_run.name, str(table)).err
    )


def test_composed_and_decomposed_characters_have_one_surprisal(typed_run: TrainedModel) -> None:
    text = "The well-known café did."
    composed, decomposed = (
        [row.surprisal for row in typed_run.surprisal(unicodedata.normalize(form, text))]
        for form in ("NFC", "NFD")
    )
    assert composed == decomposed
    assert typed_run.evaluate("grammar").protocol.normalise == "nfc"


def test_a_tagger_splits_what_is_typed(tmp_path: Path, call: Any) -> None:
    (tmp_path / "train.conll").write_text(
        "\n\n".join("\n".join(f"{w}\t{w.isalpha()}" for w in line.split()) for line in LINES * 3)
    )
    out = tmp_path / "run"
    elman.train(
        "tagger", data=str(tmp_path / "train.conll"), out=out, overrides=["training.epochs=1"]
    )
    printed = call("tag", str(out), "--text", f"{TYPED}\nNo!")
    words = [line.split("\t")[0] for line in printed.out.splitlines() if line]
    assert words == [*TOKENS, "No", "!"]  # nothing is left out, known or not


def test_a_classifier_splits_what_is_typed(tmp_path: Path) -> None:
    rows = [f"{line}\t{label}" for line in LINES for label in ("a", "b")]
    (tmp_path / "train.tsv").write_text("\n".join(["text\tlabel", *rows * 5]) + "\n")
    changes = ["training.epochs=1", "model.hidden_size=6", "model.embedding_size=6"]
    trained = elman.train("classifier", data=str(tmp_path / "train.tsv"), overrides=changes)
    assert [word.word for word in trained.explain((TYPED,))] == TOKENS
