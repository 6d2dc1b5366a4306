"""Topic model of a text (latent Dirichlet allocation, Blei et al. 2003).

    p(w | document) = Σ_z θ_dz φ_zw

Takes ids, gives P(word | topic), (V, topics), and the topic shares. A document is a few lines.
Trained by expectation–maximisation with priors on θ and φ (maximum a posteriori), which takes a few
dense products per pass over the documents. Called when a model with a topic context is built.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_PASSES = 60
_THETA_PRIOR = 0.1  # added to the expected counts of topics in a document
_PHI_PRIOR = 0.01  # and of words in a topic
_DOCUMENTS_AT_A_TIME = 256


def learn_topics(
    ids: np.ndarray,
    *,
    vocabulary_size: int,
    eos_id: int,
    topics: int,
    lines: int = 10,
    seed: int = 0,
    passes: int = _PASSES,
) -> tuple[np.ndarray, np.ndarray]:
    """P(word | topic), (V, topics), and the share of each topic; a document has `lines` lines."""
    documents = _documents(ids, eos_id, lines)
    random = np.random.default_rng(seed)
    count = int(documents.max(initial=-1)) + 1
    in_documents = random.dirichlet(np.ones(topics), count).astype(np.float32)
    in_topics = random.dirichlet(np.ones(vocabulary_size), topics).astype(np.float32)
    for _ in range(passes):
        expected = np.full_like(in_topics, _PHI_PRIOR)
        for rows, counted in _chunks(ids, documents, vocabulary_size, count):
            theta = in_documents[rows]
            ratio = counted / np.maximum(theta @ in_topics, 1e-30)
            expected += in_topics * (theta.T @ ratio)
            theta = theta * (ratio @ in_topics.T) + _THETA_PRIOR
            in_documents[rows] = theta / theta.sum(1, keepdims=True)
        in_topics = expected / expected.sum(1, keepdims=True)
    return np.ascontiguousarray(in_topics.T), in_documents.mean(0)


def _documents(ids: np.ndarray, eos_id: int, lines: int) -> np.ndarray:
    """The document of each token, (N,)."""
    ends = ids == eos_id
    line = np.cumsum(ends) - ends
    return line // lines


def _chunks(
    ids: np.ndarray, documents: np.ndarray, vocabulary_size: int, count: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """The word counts of a few documents at a time, (documents, V)."""
    bounds = np.searchsorted(
        documents, np.arange(0, count + _DOCUMENTS_AT_A_TIME, _DOCUMENTS_AT_A_TIME)
    )
    for number, first in enumerate(range(0, count, _DOCUMENTS_AT_A_TIME)):
        last = min(first + _DOCUMENTS_AT_A_TIME, count)
        part = slice(bounds[number], bounds[number + 1])
        cells = (documents[part] - first) * vocabulary_size + ids[part]
        counted = np.bincount(cells, minlength=(last - first) * vocabulary_size)
        yield slice(first, last), counted.reshape(last - first, -1).astype(np.float32)
