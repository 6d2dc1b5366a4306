"""The encoder–decoder: its formula by hand, its sources, its attention, what it copies."""

from typing import Any

import numpy as np
import pytest
import torch
from translators import VARIANTS, build_translator

from elman.batches import Batch, Pairs, Source
from elman.batches.sources import source_of_ids, source_of_vectors
from elman.layers.inputs import Material
from elman.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from elman.state import tensors

SIZE, EOS, SOURCE_SIZE = 9, 0, 6
WORDS = ["<eos>", "<unk>", *"abcdefg"]
TEXT = np.random.default_rng(0).integers(0, SIZE, 60)
NAMES = ["-".join(map(str, settings.values())) for settings in VARIANTS]


def make(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(2)
    sizes = {"embedding_size": 6, "hidden_size": 6, "init": "normal", "init_scale": 0.6}
    return build_translator({**sizes, **settings}, TEXT, WORDS, EOS).double().eval()


def make_batch(model: EncoderDecoder) -> Batch:
    """Four pairs of different lengths."""
    drawn = np.random.default_rng(3)
    lengths = (5, 1, 3, 0)
    targets = [drawn.integers(1, SIZE, length) for length in (3, 6, 1, 2)]
    places = None
    if model.config.features:
        sources = [drawn.normal(size=(n + 1, model.config.features)) for n in lengths]
    else:
        sources = [drawn.integers(1, SOURCE_SIZE, length) for length in lengths]
        places = [drawn.integers(1, SIZE, length) for length in lengths]
    pairs = Pairs(
        sources,
        targets,
        batch_size=4,
        eos_id=EOS,
        places=places if model.config.copy else None,
        vectors=bool(model.config.features),
        seed=None,
    )
    return pairs.next()


@pytest.fixture(params=VARIANTS, ids=NAMES)
def model(request: pytest.FixtureRequest) -> EncoderDecoder:
    return make(**request.param)


@torch.no_grad()
def test_the_loss_is_what_score_says(model: EncoderDecoder) -> None:
    batch = make_batch(model)
    loss, _ = model.loss(batch, None)
    scores, _ = model.score(batch.targets, model.start(4, batch.source))
    real = torch.arange(scores.shape[1]) < batch.lengths[:, None]
    assert loss.tokens == int(batch.lengths.sum())
    torch.testing.assert_close(loss.nats, -scores[real].sum())


@torch.no_grad()
def test_a_row_depends_on_its_own_source_only(model: EncoderDecoder) -> None:
    """Alone, without padding, everything is the same; with another source it is not."""
    batch = make_batch(model)
    together, _ = model.score(batch.targets, model.start(4, batch.source))
    for row in range(4):
        length = int(batch.source.lengths[row])
        source = _cut(batch.source.rows(slice(row, row + 1)), length)
        alone, _ = model.score(batch.targets[row : row + 1], model.start(1, source))
        torch.testing.assert_close(alone[0], together[row])
    turned = batch.source.rows(torch.tensor([1, 2, 3, 0]))
    other, _ = model.score(batch.targets, model.start(4, turned))
    assert float((other - together).abs().amax(1).min()) > 1e-6


def _cut(source: Source, length: int) -> Source:
    parts = {
        name: getattr(source, name)[:, :length]
        for name in ("ids", "vectors", "places")
        if getattr(source, name) is not None
    }
    return Source(source.lengths, **parts)


@torch.no_grad()
def test_alignments_are_the_attention_of_every_step(model: EncoderDecoder) -> None:
    batch = make_batch(model)
    weights = model.alignments(batch.targets, batch.source)
    if not model.has_attention:
        assert weights.shape == (*batch.targets.shape, 0)
        return
    state = model.start(4, batch.source)
    for step in range(int(batch.lengths.min())):
        looked, real = model.attention(state)
        torch.testing.assert_close(weights[:, step], looked)
        assert float(looked[~real].abs().sum()) == 0
        torch.testing.assert_close(looked.sum(1), torch.ones(4, dtype=torch.float64))
        state = model.read(batch.targets[:, step : step + 1], state)


@torch.no_grad()
def test_where_a_target_ends_its_source_begins_anew(model: EncoderDecoder) -> None:
    batch = make_batch(model)
    start = model.start(4, batch.source)
    ended = model.read(torch.tensor([[3, 4, EOS]] * 4), start)
    for found, expected in zip(tensors(ended), tensors(start), strict=True):
        torch.testing.assert_close(found, expected)


def test_gradients_reach_every_weight(model: EncoderDecoder) -> None:
    model.train()
    loss, _ = model.loss(make_batch(model), None)
    (loss.nats + loss.penalty).backward()
    for name, parameter in model.named_parameters():
        assert bool(parameter.grad.isfinite().all()), name
        if not (name.startswith("bridge") or model.config.cell in ("min-gru", "min-lstm")):
            assert float(parameter.grad.abs().sum()) > 0, name


def test_one_step_by_hand() -> None:
    """Elman cells, one direction, additive attention before the step."""
    model = make(cell="elman", bidirectional=False, tied=False)
    w = model.arrays()
    encoder = "encoder.stack.layers.0.directions.0.weights.hidden"
    decoder = "decoder.stack.layers.0.directions.0.weights.hidden"
    hidden, states = np.zeros(6), []
    for word in (4, 2, EOS):
        vector = w["source_input.weight"][word]
        products = w[f"{encoder}_input"] @ vector + w[f"{encoder}_state"] @ hidden
        hidden = np.tanh(products + w[f"{encoder}_bias"])
        states.append(hidden)
    values = np.array(states)
    before = np.tanh(w["decoder.bridge.weight"] @ values[-1] + w["decoder.bridge.bias"])
    a = {name: w[f"decoder.attention.{name}.weight"] for name in ("query", "key", "score")}
    keys = values @ a["key"].T + w["decoder.attention.key.bias"]
    scores = np.tanh(keys + a["query"] @ before) @ a["score"][0]
    weights = np.exp(scores) / np.exp(scores).sum()
    context, vector = weights @ values, w["input.weight"][EOS]
    products = w[f"{decoder}_input"] @ np.concatenate([vector, context])
    after = np.tanh(products + w[f"{decoder}_state"] @ before + w[f"{decoder}_bias"])
    together = np.concatenate([vector, after, context])
    readout = np.tanh(w["decoder.readout.weight"] @ together + w["decoder.readout.bias"])
    logits = w["output.weight"] @ readout + w["output.bias"]
    expected = logits - np.log(np.exp(logits).sum())
    with torch.no_grad():
        state = model.start(1, source_of_ids([np.array([4, 2])], EOS))
        np.testing.assert_allclose(model.predict(state)[0], expected, rtol=1e-10)
        np.testing.assert_allclose(model.attention(state)[0][0], weights, rtol=1e-10)


def test_a_coverage_penalty_by_hand() -> None:
    model = make(coverage_penalty=2.0)
    batch = make_batch(model)
    with torch.no_grad():
        weights = model.alignments(batch.targets, batch.source)
        model.train()
        loss, _ = model.loss(batch, None)
    expected = 0.0
    for row, length in enumerate(batch.lengths.tolist()):
        for step in range(length):
            earlier = weights[row, :step].sum(0)
            expected += float(torch.minimum(weights[row, step], earlier).sum())
    assert float(loss.penalty) == pytest.approx(2 * expected / int(batch.lengths.sum()))
    assert model.eval().loss(batch, None)[0].penalty == 0


def test_a_grid_in_any_order_says_the_same() -> None:
    model = make(features=4, attention="dot")
    grid = np.random.default_rng(0).normal(size=(5, 4))
    with torch.no_grad():
        found = [model.predict(model.start(1, source_of_vectors([g]))) for g in (grid, grid[::-1])]
    torch.testing.assert_close(*found)


def test_without_a_source_there_is_an_empty_one() -> None:
    material = Material(torch.ones(SIZE, dtype=torch.int64), EOS)
    model = EncoderDecoder(EncoderDecoderConfig(embedding_size=4, hidden_size=4), material)
    empty = source_of_ids([np.array([], dtype=np.int64)] * 2, EOS)
    with torch.no_grad():
        assert torch.equal(model.predict(model.start(2)), model.predict(model.start(2, empty)))
    with pytest.raises(ValueError, match="3 rows, but 2 sources"):
        model.start(3, empty)
