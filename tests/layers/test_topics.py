"""Topics of recent words: learned from a text, inferred while reading."""

import numpy as np
import pytest
import torch

from elman.counts.topics import learn_topics
from elman.layers.inputs import TopicContext

# Two subjects that are never in one document, and words that are in both.
SEA, LAND, BOTH, EOS = [1, 2, 3], [4, 5, 6], [7, 8], 0


def write(documents: int = 60, lines: int = 4) -> np.ndarray:
    random = np.random.default_rng(2)
    ids = []
    for document in range(documents):
        words = [*(SEA if document % 2 else LAND), *BOTH]
        for _ in range(lines):
            ids += [*random.choice(words, 6), EOS]
    return np.array(ids)


def test_words_that_keep_company_share_a_topic() -> None:
    in_topics, share = learn_topics(write(), vocabulary_size=10, eos_id=EOS, topics=2, lines=4)
    assert in_topics.shape == (10, 2)
    assert np.allclose(in_topics.sum(0), 1, atol=1e-5)
    assert np.allclose(share, 0.5, atol=0.1)
    by_word = in_topics / in_topics.sum(1, keepdims=True)
    first = by_word[SEA[0]].argmax()
    assert (by_word[SEA, first] > 0.9).all()
    assert (by_word[LAND, first] < 0.1).all()
    assert (np.abs(by_word[[*BOTH, EOS], first] - 0.5) < 0.25).all()  # these say little


def test_two_passes_by_hand() -> None:
    """Expected counts of topics, word by word, as the formula has them."""
    ids, size, topics = write(6, 2), 10, 3
    random = np.random.default_rng(4)
    theta = random.dirichlet(np.ones(topics), 6).astype(np.float32)
    phi = random.dirichlet(np.ones(size), topics).astype(np.float32)
    lines = np.cumsum(ids == EOS) - (ids == EOS)
    for _ in range(2):
        in_document, in_topic = np.full((6, topics), 0.1), np.full((topics, size), 0.01)
        for word, document in zip(ids, lines // 2, strict=True):
            share = theta[document] * phi[:, word]
            in_document[document] += share / share.sum()
            in_topic[:, word] += share / share.sum()
        theta = in_document / in_document.sum(1, keepdims=True)
        phi = in_topic / in_topic.sum(1, keepdims=True)
    in_topics, share = learn_topics(
        ids, vocabulary_size=size, eos_id=EOS, topics=topics, lines=2, seed=4, passes=2
    )
    assert np.allclose(in_topics, phi.T, atol=1e-4)
    assert np.allclose(share, theta.mean(0), atol=1e-4)


def test_topics_follow_from_the_seed_and_the_text() -> None:
    one, two = (
        learn_topics(write(), vocabulary_size=10, eos_id=EOS, topics=3, passes=5)[0]
        for _ in range(2)
    )
    assert np.array_equal(one, two)
    other = learn_topics(write(), vocabulary_size=10, eos_id=EOS, topics=3, passes=5, seed=1)[0]
    assert not np.array_equal(one, other)


def test_documents_at_a_time_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = learn_topics(write(), vocabulary_size=10, eos_id=EOS, topics=2, lines=4, passes=6)
    monkeypatch.setattr("elman.counts.topics._DOCUMENTS_AT_A_TIME", 7)
    parts, _ = learn_topics(write(), vocabulary_size=10, eos_id=EOS, topics=2, lines=4, passes=6)
    assert np.allclose(whole, parts, atol=1e-4)


def make_context(window: int) -> TopicContext:
    torch.manual_seed(0)
    in_topics = torch.rand(9, 3).pow(2)
    return TopicContext(
        in_topics / in_topics.sum(0), torch.tensor([0.5, 0.3, 0.2]), window
    ).double()


def test_the_topics_of_the_last_words_by_hand() -> None:
    context = make_context(window=4)
    ids = torch.randint(9, (2, 11))
    topics, carried = context(ids, context.begin(2))
    assert torch.equal(carried, ids[:, -4:])
    for row in range(2):
        for step in range(11):
            mixture = context.share
            for _ in range(4):
                counted = context.share.clone()
                for word in ids[row, max(0, step - 3) : step + 1]:
                    each = mixture * context.in_topics[word]
                    counted += each / each.sum()
                mixture = counted / counted.sum()
            assert torch.allclose(topics[row, step], mixture, rtol=0, atol=1e-12)


def test_halves_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    context = make_context(window=5)
    ids = torch.randint(9, (3, 12))
    whole, _ = context(ids, context.begin(3))
    monkeypatch.setattr("elman.layers.inputs._WINDOWS_AT_A_TIME", 7)
    first, carried = context(ids[:, :3], context.begin(3))
    second, _ = context(ids[:, 3:], carried)
    assert torch.allclose(torch.cat([first, second], 1), whole, rtol=0, atol=1e-12)
