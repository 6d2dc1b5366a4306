"""Adapters around models with a source: they pass on the source and the attention."""

import pytest
import torch
from source_model import SourceModel, draw_source_model

from elman.adapters.cache import Config as CacheConfig
from elman.adapters.cache import UnigramCache
from elman.adapters.documents import Config as DocumentsConfig
from elman.adapters.documents import Documents
from elman.adapters.mixture import Mixture
from elman.adapters.temperature import Temperature
from elman.decoding.beam import beam_search_rows
from elman.decoding.options import DecodingOptions
from elman.models.contract import LanguageModel

SOURCES = torch.tensor([[4, 1, -1], [0, 1, 2], [6, -1, -1]])
IDS = torch.tensor([[1, 3], [0, 4], [3, 3]])
ONE, OTHER = draw_source_model(1), draw_source_model(2)


def looks(model: LanguageModel) -> tuple[torch.Tensor, torch.Tensor]:
    assert model.has_attention
    return model.attention(model.read(IDS, model.start(3, SOURCES)))


@pytest.mark.parametrize(
    "model",
    [Temperature(ONE, 2.0), Documents(ONE, 2, DocumentsConfig(lines=5), None)],
    ids=lambda model: type(model).__name__,
)
def test_an_adapter_looks_where_its_model_looks(model: LanguageModel) -> None:
    for found, expected in zip(looks(model), looks(ONE), strict=True):
        assert torch.equal(found, expected)


def test_a_mixture_looks_where_its_models_look_by_their_weights() -> None:
    (first, real), (second, _) = looks(ONE), looks(OTHER)
    found, found_real = looks(Mixture([ONE, OTHER], [0.25, 0.75]))
    torch.testing.assert_close(found, 0.25 * first + 0.75 * second)
    assert torch.equal(found_real, real)
    assert (found[~real] == 0).all()
    cache = UnigramCache(5, CacheConfig(window=3))
    torch.testing.assert_close(looks(Mixture([ONE, cache], [0.1, 0.9]))[0], first)
    torch.testing.assert_close(looks(Mixture([ONE, cache], [0.0, 1.0]))[0], first)
    assert not Mixture([cache, cache], [0.5, 0.5]).has_attention


def test_several_models_decode_together() -> None:
    # Both tables as one: the average of the probabilities is what a beam ranks.
    mixture = Mixture([ONE, OTHER], [0.5, 0.5])
    average = SourceModel(((ONE.table.exp() + OTHER.table.exp()) / 2).log(), ONE.looks)
    options = DecodingOptions(beam=4, n_best=4, max_tokens=6, stop_ids=(2,), length_penalty=0.7)
    found = beam_search_rows(mixture, mixture.start(3, SOURCES), options)
    expected = beam_search_rows(average, average.start(3, SOURCES), options)
    alone = beam_search_rows(ONE, ONE.start(3, SOURCES), options)
    assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in expected]
    scores = [h.score for row in found for h in row]
    assert scores == pytest.approx([h.score for row in expected for h in row], abs=1e-5)
    assert [[h.ids for h in row] for row in found] != [[h.ids for h in row] for row in alone]


def test_a_mixture_can_rank_by_coverage() -> None:
    mixture = Mixture([ONE, OTHER], [0.5, 0.5])
    options = DecodingOptions(beam=4, max_tokens=1, stop_ids=(2,), coverage_penalty=0.5)
    found = beam_search_rows(mixture, mixture.start(3, SOURCES), options)
    lower = [row[0].score < row[0].log_prob for row in found]
    assert lower == [True, True, False]  # one word alone is always covered
