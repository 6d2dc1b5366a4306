"""Minimal pairs: scored words, counted pairs, and agreement with KenLM."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_models import fitted

import elman
from elman.errors import InputError
from elman.evaluation.measures import Reading
from elman.evaluation.pairs import JudgedPair, judge_pairs
from elman.evaluation.scoring import score_ids
from elman.evaluation.surprisal import word_surprisals
from elman.models.recurrent import RecurrentConfig, RecurrentModel
from elman.tasks.language_modelling.minimal_pairs import judge, read_materials
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text import TOKENIZERS
from elman.text.minimal_pairs import MinimalPair

SCORED = ("sentence", "difference")


def surprisals(name: str, sentence: str) -> list[float]:
    """The log probability of every word and of the line end, in nats."""
    rows = word_surprisals(*fitted(name), sentence + "\n", base=math.e)
    return [-row.surprisal_uncorrected for row in rows]


def begun(name: str, before: str, text: str) -> float:
    """The log probability of a text after the beginning of a line, in nats."""
    model, tokenizer = fitted(name)
    whole, beginning = (tokenizer.encode(t) for t in (before + text, before))
    scores = score_ids(model, whole, eos_id=tokenizer.eos_id, reading=Reading("line"))
    return float(scores[len(beginning) :].sum())


def place(sentence: str, word: str) -> tuple[int, int]:
    start = sentence.index(word)
    return start, start + len(word)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_one_prefix(name: str) -> None:
    good, bad = "the cats sleep .", "the cats sleeps ."
    critical = place(good, "sleep"), place(bad, "sleeps")
    for pair in (MinimalPair(good, bad, "p", critical=critical), MinimalPair(good, bad, "p")):
        (judged,) = judge_pairs(*fitted(name), [pair], scored="difference")
        # As characters, "sleep" begins "sleeps": that it ends shows in the space after it.
        further = " " if name in ("characters", "bytes") else ""
        expected = [begun(name, "the cats", f" {word}{further}") for word in ("sleep", "sleeps")]
        if name in ("words", "raw-words", "characters", "bytes"):
            assert judged.good_log_probability == pytest.approx(expected[0])
            assert judged.bad_log_probability == pytest.approx(expected[1])
        assert judged.judgement.right


@pytest.mark.parametrize("name", TOKENIZERS)
def test_two_prefixes(name: str) -> None:
    good, bad = "the cat sleeps .", "a dogs sleeps ."
    critical = place(good, "sleeps"), place(bad, "sleeps")
    pair = MinimalPair(good, bad, "p", critical=critical, same_beginning=False)
    (judged,) = judge_pairs(*fitted(name), [pair], scored="difference")
    assert judged.good_log_probability == pytest.approx(surprisals(name, good)[2])
    assert judged.bad_log_probability == pytest.approx(surprisals(name, bad)[2])


def test_words_that_differ_where_none_is_named() -> None:
    good, bad = "the cat sees the dogs .", "the cat the dogs sees ."
    (judged,) = judge_pairs(*fitted("words"), [MinimalPair(good, bad, "p")], scored="difference")
    assert judged.good_log_probability == pytest.approx(sum(surprisals("words", good)[2:5]))
    assert judged.bad_log_probability == pytest.approx(sum(surprisals("words", bad)[2:5]))
    assert (judged.good_tokens, judged.bad_tokens) == (3, 3)


def test_an_added_word_is_compared_with_the_word_in_its_place() -> None:
    good, bad = "the cat sees .", "the cat cat sees ."
    (judged,) = judge_pairs(*fitted("words"), [MinimalPair(good, bad, "p")], scored="difference")
    # Nothing beside "cat" would always win: "sees" follows in both.
    assert judged.good_log_probability == pytest.approx(surprisals("words", good)[2])
    assert judged.bad_log_probability == pytest.approx(sum(surprisals("words", bad)[2:4]))
    (mean,) = judge_pairs(
        *fitted("words"), [MinimalPair(good, bad, "p")], scored="difference", per_token=True
    )
    assert mean.bad_log_probability == pytest.approx(judged.bad_log_probability / 2)


@pytest.mark.parametrize(
    ("good", "bad", "differing", "any_"),
    [
        ("the cats sleep .", "the cats sleeps .", False, False),
        ("the zebras sleep .", "the zebras sleeps .", False, True),  # unknown in both
        ("the zebra sleeps .", "the zebras sleeps .", True, True),  # two unknown words differ
        ("the cat sleeps .", "the zebra sleeps .", True, True),
        ("zebra sees the cat .", "the zebra sees cat .", False, True),  # the same words, moved
        ("the zebra gnu .", "the gnu zebra .", True, True),  # the same to a model
    ],
)
def test_which_unknown_words_exclude_a_pair(
    good: str, bad: str, differing: bool, any_: bool
) -> None:
    expected = {"differing": differing, "any": any_, "never": False}
    for rule, excluded in expected.items():
        (judged,) = judge_pairs(
            *fitted("words"), [MinimalPair(good, bad, "p")], exclude_unknown=rule
        )
        assert (judged.judgement.excluded, judged.judgement.unknown) == (excluded, any_), rule


def test_a_scored_word_must_be_known() -> None:
    good, bad = "the cat naps .", "the cats naps ."
    critical = place(good, "naps"), place(bad, "naps")
    pair = MinimalPair(good, bad, "p", critical=critical, same_beginning=False)
    for scored, excluded in (("sentence", False), ("difference", True)):
        (judged,) = judge_pairs(*fitted("words"), [pair], scored=scored)
        assert judged.judgement.excluded == excluded


@pytest.mark.parametrize("rule", ["differing", "any", "never"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokenizers_without_unknown_words_exclude_nothing(name: str, rule: str) -> None:
    model, tokenizer = fitted(name)
    pairs = [MinimalPair("the zebra sleeps .", "the gnus sleeps .", "p")]
    if tokenizer.unknown_id is not None:
        pairs = [MinimalPair("the cats sleep .", "the cats sleeps .", "p")]
    for scored in SCORED:
        (judged,) = judge_pairs(model, tokenizer, pairs, scored=scored, exclude_unknown=rule)
        assert not judged.judgement.excluded


def test_unknown_choices_are_refused() -> None:
    pair = [MinimalPair("a", "b", "p")]
    with pytest.raises(InputError, match="way to score pairs"):
        judge_pairs(*fitted("words"), pair, scored="word")
    with pytest.raises(InputError, match="way to exclude"):
        judge_pairs(*fitted("words"), pair, exclude_unknown="all")


@pytest.mark.parametrize("scored", SCORED)
def test_the_batch_size_changes_no_decision(scored: str) -> None:
    _, tokenizer = fitted("words")
    torch.manual_seed(2)
    config = RecurrentConfig(hidden_size=24, embedding_size=24)
    ids = np.arange(len(tokenizer))
    model = RecurrentModel.build(config, ids, tokenizer.tokens, tokenizer.eos_id).eval()
    words = [word for word in tokenizer.tokens if not word.startswith("<")]
    drawn = np.random.default_rng(3)
    pairs = []
    for _ in range(200):
        good = drawn.choice(words, drawn.integers(2, 9)).tolist()
        bad = [*good]
        bad[drawn.integers(len(bad))] = str(drawn.choice(words))
        pairs.append(MinimalPair(" ".join(good), " ".join(bad), "p"))
    decisions = []
    for size in (None, 1, 7, 64):
        judged = judge_pairs(model, tokenizer, pairs, scored=scored, batch_size=size)
        decisions.append([(one.judgement.right, one.judgement.tie) for one in judged])
    assert decisions[0] == decisions[1] == decisions[2] == decisions[3]
    assert {right for right, _ in decisions[0]} == {True, False}


def agree_with_kenlm(trained: TrainedModel, judged: list[JudgedPair], folder: Path) -> int:
    """The number of compared decisions; our ties must be nearly ties for KenLM."""
    kenlm = pytest.importorskip("kenlm", reason="needs kenlm: pip install 'elman[oracles]'")
    from elman.formats.arpa_writer import write_arpa

    path = folder / "model.arpa"
    write_arpa(path, trained.model.tables, trained.tokenizer.tokens)  # type: ignore[attr-defined]
    theirs = kenlm.Model(str(path))
    for one in judged:
        good, bad = theirs.score(one.good), theirs.score(one.bad)
        assert one.good_log_probability / math.log(10) == pytest.approx(good, abs=1e-3)
        if one.judgement.tie or abs(good - bad) < 1e-4:
            assert good == pytest.approx(bad, abs=1e-4)  # KenLM computes in single precision
        else:
            assert one.judgement.right == (good > bad)
    return len(judged)


def test_kenlm_decides_alike_on_a_small_text(tmp_path: Path) -> None:
    trained = elman.train("ngram", data="grammar", out=None)
    scores = judge(trained, read_materials("grammar"))
    pairs = [item for item in scores.items if isinstance(item, JudgedPair)]
    assert agree_with_kenlm(trained, pairs, tmp_path) > 500
    assert {item.judgement.right for item in pairs} == {True, False}


@pytest.mark.slow
def test_kenlm_decides_alike_on_blimp(corpus: Callable[[str], Path], tmp_path: Path) -> None:
    blimp, text = corpus("blimp"), corpus("wikitext-2")
    trained = elman.train("ngram", data=str(text), out=None)
    scores = judge(trained, read_materials(str(blimp)), exclude_unknown="never")
    pairs = [item for item in scores.items if isinstance(item, JudgedPair)]
    drawn = np.random.default_rng(0).choice(len(pairs), 1000, replace=False)
    assert agree_with_kenlm(trained, [pairs[n] for n in drawn], tmp_path) == 1000
