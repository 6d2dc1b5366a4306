"""Input and output of a network: tying, initial weights, word dropout, cost."""

from collections.abc import Callable

import pytest
import torch

from elman.errors import InputError
from elman.layers.inputs import Material
from elman.models import MODELS
from elman.models.network import INITIALISERS
from elman.models.neural import NeuralModel
from elman.recipes import load_recipe

SIZE, EOS = 11, 0  # vocabulary, line end

Make = Callable[..., NeuralModel]


def test_tied_weights_are_one_and_a_bridge_spans_other_sizes(make: Make) -> None:
    tied = make("recurrent", hidden_size=5)
    assert tied.output.weight is None
    assert tied.output.project is None
    assert make("recurrent", hidden_size=6).output.project.weight.shape == (5, 6)
    untied = make("recurrent", hidden_size=6, tied=False)
    assert untied.output.project is None
    assert untied.output.weight.shape == (SIZE, 6)
    shared = sum(parameter.numel() for parameter in tied.parameters())
    assert shared == SIZE * 5 + SIZE + 4 * 5 * (5 + 5 + 1)


def test_what_has_no_table_cannot_be_tied(make: Make) -> None:
    with pytest.raises(InputError, match="'characters' has no table.*set model.tied=false"):
        make("recurrent", input="characters")


@pytest.mark.parametrize("kind", INITIALISERS)
def test_initial_weights(kind: str, make: Make) -> None:
    model = make("recurrent", cell="lstm", hidden_size=40, embedding_size=50, init=kind)
    weights = torch.cat([parameter.flatten() for parameter in model.parameters()])
    if kind == "uniform":
        assert 0.59 < weights.max() <= 0.6
        assert weights.std().item() == pytest.approx(0.6 / 3**0.5, rel=0.05)
        biases = [value for name, value in model.named_parameters() if "bias" in name]
        assert all(bias.std() > 0.2 for bias in biases)  # Zaremba's: biases too
    elif kind == "normal":
        assert weights.max() > 1.5
        assert weights.std().item() == pytest.approx(0.6, rel=0.05)
    else:
        assert 0.09 < model.input.weight.abs().max() <= 0.1


def test_whole_words_are_dropped_everywhere(make: Make) -> None:
    model = make("recurrent", embedding_size=50, dropout_words=0.4).train()
    ids = torch.arange(SIZE).repeat(4, 3)
    vectors = model.input(ids)
    table = vectors[0, :SIZE]
    assert torch.equal(vectors, table.repeat(3, 1).expand_as(vectors))  # the same in all places
    dropped = table.eq(0).all(1)
    assert 0 < dropped.sum() < SIZE
    kept = model.input.weight[~dropped] / 0.6
    assert torch.allclose(table[~dropped], kept, rtol=1e-4)
    assert not torch.equal(model.input(ids)[0, :SIZE], table)  # others at the next window
    assert torch.equal(model.eval().input(ids)[0, :SIZE], model.input.weight)


def test_a_dropped_word_can_still_be_predicted(make: Make) -> None:
    """Tied or not, the output sees all vectors."""
    model = make("recurrent", hidden_size=5, dropout_words=0.9).train()
    hidden = torch.randn(2, 5, dtype=torch.float64)
    targets = torch.tensor([3, 4])
    losses = {model.output.loss((hidden,), targets, model.shared_table()).item() for _ in range(5)}
    assert len(losses) == 1


def built_from(recipe: str) -> NeuralModel:
    """On no device: nothing is computed or stored."""
    config = load_recipe(recipe)
    with torch.device("meta"):
        cls = MODELS.choose(config.kind)
        return cls(config.model, Material(torch.ones(10_000, dtype=torch.long), EOS))


def test_multiplications_of_zaremba_small() -> None:
    model = built_from("zaremba-small")
    assert model.multiplications(400) == 4 * 200 * 400 * 2 + 200 * 10_000 == 2_640_000
    parameters = 10_000 * 200 + 2 * 800 * (400 + 1) + 10_000 * 200 + 10_000
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_multiplications_of_other_families(make: Make) -> None:
    def count(kind: str, **settings) -> int:
        return make(kind, **settings).multiplications(1)

    assert count("feed-forward", order=4, hidden_size=7) == 15 * 7 + 7 * SIZE
    direct = count("feed-forward", order=4, hidden_size=7, direct=True)
    assert direct == 15 * 7 + (7 + 15) * SIZE
    assert count("log-bilinear", order=4) == 15 * 5 + 5 * SIZE
    assert count("log-bilinear", order=4, diagonal=True) == 15 + 5 * SIZE
    bridged = count("recurrent", cell="elman", hidden_size=7)
    assert bridged == 7 * (5 + 7) + 7 * 5 + 5 * SIZE
    # Four words, and now and then the one word of the step beside them.
    sampled = count(
        "recurrent", cell="elman", hidden_size=5, output="sampled", output_options={"samples": 4}
    )
    assert 5 * (5 + 5) + 5 * 4 < sampled < 5 * (5 + 5) + 5 * 5
