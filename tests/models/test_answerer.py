"""The answerer: its loss and errors; every question is independent of the others."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from facts import squad

from elman.batches.featured import IndexedMatches
from elman.batches.sentences import ExampleBatch, SentenceReader
from elman.config import as_data, build
from elman.errors import InputError
from elman.models.answerer import Alignment, Answerer, AnswererConfig, SpanPointers, best_spans
from elman.models.bidirectional import BidirectionalConfig, BidirectionalModel
from elman.tasks.answering.reader import read_questions
from elman.text.reader import Document
from elman.text.word_list import WordList


@torch.no_grad()
def test_the_formula_word_by_word() -> None:
    torch.manual_seed(1)
    alignment = Alignment(4)
    passage, question = torch.randn(2, 5, 4), torch.randn(2, 3, 4)
    lengths = torch.tensor([3, 2])
    found = alignment(passage, question, lengths)
    for row, length in enumerate(lengths.tolist()):
        for place in range(5):
            key = torch.relu(alignment.key(passage[row, place]))
            scores = [
                float((key @ torch.relu(alignment.key(question[row, j]))).exp())
                for j in range(length)
            ]
            expected = sum(s * question[row, j] for j, s in enumerate(scores)) / sum(scores)
            torch.testing.assert_close(found[row, place], expected)


def test_padding_does_not_count() -> None:
    torch.manual_seed(1)
    alignment = Alignment(4)
    passage, question = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    spoilt = question.clone()
    spoilt[0, 2] = torch.nan
    lengths = torch.tensor([2])
    assert torch.equal(
        alignment(passage, question, lengths), alignment(passage, spoilt.nan_to_num(99), lengths)
    )
    assert not alignment(passage, spoilt, lengths).isnan().any()


def test_bilinear_attention_by_hand() -> None:
    torch.manual_seed(2)
    pointers = SpanPointers(4, 3)
    passage, question, lengths = torch.randn(2, 5, 4), torch.randn(2, 3), torch.tensor([5, 3])
    starts, ends = pointers(passage, question, lengths)
    for found, weights in ((starts, pointers.start.weight), (ends, pointers.end.weight)):
        for row, length in enumerate(lengths.tolist()):
            scores = torch.stack([p @ weights @ question[row] for p in passage[row, :length]])
            torch.testing.assert_close(found[row, :length], scores.log_softmax(0))
            assert (found[row, length:] == -torch.inf).all()
    torch.testing.assert_close(starts.exp().sum(1), torch.ones(2))


@pytest.mark.parametrize("longest", [1, 2, 3, 7, 20])
def test_the_best_of_all_spans(longest: int) -> None:
    generator = torch.Generator().manual_seed(longest)
    lengths = [7, 1, 4, 7, 2]
    starts, ends = (torch.randn(5, 7, generator=generator) for _ in range(2))
    for row, length in enumerate(lengths):
        starts[row, length:] = ends[row, length:] = -torch.inf
    found = best_spans(starts, ends, longest)
    for row, length in enumerate(lengths):
        spans = [
            (float(starts[row, first] + ends[row, last]), first, last)
            for first in range(length)
            for last in range(first, min(length, first + longest))
        ]
        best = max(spans)
        assert (found.log_probs[row], found.firsts[row], found.lasts[row]) == best


def test_of_equal_spans_the_first_and_shortest() -> None:
    found = best_spans(torch.zeros(1, 4), torch.zeros(1, 4), 3)
    assert (found.firsts.tolist(), found.lasts.tolist()) == ([0], [0])


EXAMPLES = read_questions(Document("facts", json.dumps(squad(4, seed=0))))
PASSAGES = [example.passage.words[: 9 + n] for n, example in enumerate(EXAMPLES)]
QUESTIONS = [example.question.words for example in EXAMPLES]
WORDS = WordList.learn([*PASSAGES, *QUESTIONS])
READER = SentenceReader(WORDS)
MATCHES = IndexedMatches(READER.index(PASSAGES), PASSAGES, QUESTIONS)
ASKED = READER.index(QUESTIONS)
COUNTS = torch.from_numpy(WORDS.counts)
ALL = np.arange(len(EXAMPLES))


def make(language_model: Any = None, **changes: Any) -> Answerer:
    torch.manual_seed(3)
    sizes = {"embedding_size": 6, "spelling_size": 5, "hidden_size": 7, "num_layers": 2}
    model = Answerer(AnswererConfig(**{**sizes, **changes}), COUNTS, language_model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # so that words make a difference
    return model.eval()


def pairs(rows: np.ndarray) -> tuple[Any, Any]:
    return ASKED.batch(rows), MATCHES.batch(rows)


@torch.no_grad()
def test_nothing_beside_a_question_changes_its_answer() -> None:
    """Not the size of a batch, nor the order in it, nor what pads a row."""
    model = make()
    together = model.score(*pairs(ALL))
    shuffled = np.random.default_rng(1).permutation(ALL)
    mixed = model.score(*pairs(shuffled))
    for row in ALL:
        length = len(PASSAGES[row])
        alone = model.score(*pairs(ALL[row : row + 1]))
        place = int(np.flatnonzero(shuffled == row)[0])
        for one, all_rows, others in zip(alone, together, mixed, strict=True):
            torch.testing.assert_close(all_rows[row, :length], one[0])
            torch.testing.assert_close(others[place, :length], one[0])
            assert (all_rows[row, length:] == -torch.inf).all()
    best, alone = model.best(*pairs(ALL)), [model.best(*pairs(ALL[r : r + 1])) for r in ALL]
    assert best.firsts.tolist() == [int(one.firsts) for one in alone]
    assert best.lasts.tolist() == [int(one.lasts) for one in alone]
    assert len({*best.firsts.tolist()}) > 3  # it does differ


@torch.no_grad()
def test_question_match_and_passage_all_count() -> None:
    model = make()
    question, passage = pairs(ALL)
    before = model.score(question, passage)[0]
    other = replace(question, words=question.words.flip(1))
    assert not torch.allclose(before, model.score(other, passage)[0])
    assert not torch.allclose(
        before, model.score(question, replace(passage, matched=~passage.matched))[0]
    )


@torch.no_grad()
def test_loss_and_errors_by_hand() -> None:
    model = make(longest=4)
    rows = ALL[:5]
    targets = torch.tensor([[[1, 2]], [[0, 0]], [[3, 8]], [[4, 4]], [[2, 5]]])
    best = model.best(*pairs(rows))
    targets[1, 0] = torch.tensor([best.firsts[1], best.lasts[1]])  # one that is right
    targets[3, 0] = torch.tensor([best.firsts[3], best.lasts[3] + 1])  # one that is not quite
    batch = ExampleBatch(pairs(rows), targets, (1,) * len(rows))
    loss, _ = model.loss(batch)
    starts, ends = model.score(*pairs(rows))
    nats = [
        -float(starts[row, first] + ends[row, last])
        for row, ((first, last),) in enumerate(targets.tolist())
    ]
    assert float(loss.nats) == pytest.approx(sum(nats), rel=1e-5)
    assert loss.tokens == 5
    assert model.errors(batch) == 4
    judged, _ = model.judge(batch)
    assert (float(judged.nats), judged.tokens) == (4.0, 5)


def test_no_answer_is_longer_than_allowed() -> None:
    for longest in (1, 2, 5):
        best = make(longest=longest).best(*pairs(ALL))
        widths = best.lasts - best.firsts + 1
        assert int(widths.min()) >= 1
        assert int(widths.max()) <= longest
        assert (best.lasts < MATCHES.batch(ALL).lengths).all()


def test_every_weight_is_learned() -> None:
    model = make(dropout_features=0.0)
    targets = torch.tensor([[[row % 5, row % 5 + 1]] for row in ALL.tolist()])
    loss, _ = model.loss(ExampleBatch(pairs(ALL), targets, (1,) * len(ALL)))
    loss.nats.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_frozen_language_model_gives_further_features() -> None:
    torch.manual_seed(5)
    config = BidirectionalConfig(
        character_size=4, widths=(1, 3), filters=(5, 7), projection=6, hidden_size=8, samples=4
    )
    known = BidirectionalModel(config, COUNTS)
    model = make(known)
    assert model.features.size == make().features.size + known.size
    model.loss(ExampleBatch(pairs(ALL), torch.zeros(len(ALL), 1, 2).long(), (1,) * len(ALL)))[
        0
    ].nats.backward()
    assert all(parameter.grad is None for parameter in known.parameters())
    assert model.contextual is not None
    assert all(parameter.grad is not None for parameter in model.contextual.mixes.parameters())


def test_settings_come_back_and_bad_ones_are_refused() -> None:
    config = AnswererConfig(longest=3, num_layers=2)
    assert build(AnswererConfig, as_data(config), "model") == config
    with pytest.raises(InputError, match="model.longest=0: must be at least 1"):
        AnswererConfig(longest=0)
    with pytest.raises(InputError, match="dropout_features"):
        AnswererConfig(dropout_features=1.0)
