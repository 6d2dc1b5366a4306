"""Neural families: what they learn from is what they score, and their formulas are the papers'."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elman.batches import Batch, Lines, Stream
from elman.errors import InputError
from elman.layers.inputs import Material
from elman.layers.penalties import activation_penalty, temporal_penalty
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.models.neural_config import INITIALISERS
from elman.state import tensors
from elman.tasks.recipes import load_recipe

SIZE, EOS, B = 11, 0, 3
TEXT = np.random.default_rng(0).integers(0, SIZE, 120)
WORDS = [f"word{number}" for number in range(SIZE)]

FAMILIES = {
    "feed-forward": ("feed-forward", {"order": 4, "hidden_size": 7}),
    "feed-forward-direct": ("feed-forward", {"order": 3, "hidden_size": 7, "direct": True}),
    "feed-forward-tied": ("feed-forward", {"order": 3, "hidden_size": 7, "tied": True}),
    "log-bilinear": ("log-bilinear", {"order": 4}),
    "log-bilinear-diagonal": ("log-bilinear", {"order": 4, "diagonal": True}),
    "elman": ("recurrent", {"cell": "elman", "hidden_size": 5}),
    "elman-untied": ("recurrent", {"cell": "elman", "hidden_size": 8, "tied": False}),
    "gru-dense": ("recurrent", {"cell": "gru", "num_layers": 2, "connection": "dense"}),
    "lstm": ("recurrent", {"cell": "lstm", "num_layers": 2, "hidden_size": (8, 5)}),
    "min-gru": ("recurrent", {"cell": "min-gru", "hidden_size": 5}),
    "highway": ("recurrent", {"cell": "highway", "hidden_size": 5, "options": {"depth": 2}}),
    "sampled": (
        "recurrent",
        {"cell": "lstm", "output": "sampled", "output_options": {"samples": 4}},
    ),
    "sampled-untied": (
        "recurrent",
        {"cell": "lstm", "output": "sampled", "output_options": {"samples": 4}, "tied": False},
    ),
}


def make(kind: str, **settings) -> NeuralModel:
    """In double precision, with weights so large that every word makes a difference."""
    torch.manual_seed(1)
    cls = MODELS.choose(kind)
    sizes = {"hidden_size": 6} if kind == "recurrent" else {}
    usual = {"embedding_size": 5, "init": "normal", "init_scale": 0.6, **sizes}
    return cls.build(cls.config_class(**(usual | settings)), TEXT, WORDS, EOS).double().eval()


@pytest.fixture(params=FAMILIES)
def model(request: pytest.FixtureRequest) -> NeuralModel:
    kind, settings = FAMILIES[request.param]
    return make(kind, **settings)


def score_from_first(model: NeuralModel, batch: Batch) -> torch.Tensor:
    """The contract's scores of the targets, (B, T): after each input, the next word."""
    carried = model.begin(len(batch.inputs))
    nothing_predicted = (torch.zeros(len(batch.inputs)), carried)
    state = model.read(batch.inputs[:, :1], nothing_predicted)
    return model.score(batch.targets, state)[0]


def test_every_registered_family_is_here() -> None:
    neural = {kind for kind in MODELS if issubclass(MODELS.choose(kind), NeuralModel)}
    assert {kind for kind, _ in FAMILIES.values()} == neural


# --- The loss


def test_the_loss_of_a_window_is_minus_the_score_of_its_targets(model: NeuralModel) -> None:
    batch = Stream(TEXT, batch_size=B, window=13).next()
    loss, _ = model.loss(batch, None)
    assert loss.tokens == B * 13
    expected = -score_from_first(model, batch).sum()
    assert torch.allclose(loss.nats, expected, rtol=1e-12, atol=0)
    assert loss.penalty == 0


def test_the_loss_of_lines_is_minus_the_score_of_each_from_a_fresh_start(
    model: NeuralModel,
) -> None:
    batch = Lines(TEXT, batch_size=6, eos_id=EOS).next()
    assert batch.lengths.unique().numel() > 1
    loss, _ = model.loss(batch, None)
    assert loss.tokens == batch.lengths.sum()
    expected = 0.0
    for row, length in zip(batch.targets, batch.lengths, strict=True):
        expected -= model.score(row[None, :length], model.start(1))[0].sum()
    assert torch.allclose(loss.nats, expected, rtol=1e-12, atol=0)


def test_what_is_only_read_costs_nothing_but_is_read(model: NeuralModel) -> None:
    for batches in (Lines(TEXT, batch_size=6, eos_id=EOS), Stream(TEXT, batch_size=B, window=12)):
        batch = batches.next()
        learned = batch.targets % 2 == 0
        some, carried = model.loss(replace(batch, learned=learned), None)
        others, _ = model.loss(replace(batch, learned=~learned), None)
        everything, after = model.loss(batch, None)
        assert some.tokens + others.tokens == everything.tokens == batch.tokens
        assert 0 < some.tokens < everything.tokens
        assert torch.allclose(some.nats + others.nats, everything.nats, rtol=1e-12, atol=0)
        for one, other in zip(tensors(carried), tensors(after), strict=True):
            assert torch.equal(one, other)
        nothing, _ = model.loss(replace(batch, learned=learned & ~learned), None)
        assert (nothing.nats.item(), nothing.tokens) == (0.0, 0)


def test_padding_does_not_matter(model: NeuralModel) -> None:
    batch = Lines(TEXT, batch_size=6, eos_id=EOS).next()
    padding = torch.arange(batch.inputs.shape[1]) >= batch.lengths[:, None]
    assert padding.any()
    other = Batch(
        batch.inputs.masked_fill(padding, 7), batch.targets.masked_fill(padding, 8), batch.lengths
    )
    assert torch.equal(model.loss(batch, None)[0].nats, model.loss(other, None)[0].nats)


def test_two_windows_with_carried_state_are_one_long_one(model: NeuralModel) -> None:
    long = Stream(TEXT, batch_size=B, window=24).next()
    short = Stream(TEXT, batch_size=B, window=12)
    whole, end = model.loss(long, None)
    first, carried = model.loss(short.next(), None)
    second, last = model.loss(short.next(), carried)
    assert torch.allclose(first.nats + second.nats, whole.nats, rtol=1e-12, atol=0)
    assert first.tokens + second.tokens == whole.tokens
    for one, other in zip(tensors(end), tensors(last), strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-14)
    forgotten, _ = model.loss(Batch(long.inputs[:, 12:], long.targets[:, 12:]), None)
    assert not torch.allclose(second.nats, forgotten.nats, rtol=1e-6)


def test_gradients_end_where_the_window_began(model: NeuralModel) -> None:
    stream = Stream(TEXT, batch_size=B, window=12)
    _, carried = model.loss(stream.next(), None)
    assert not any(tensor.requires_grad for tensor in tensors(carried))
    loss, _ = model.loss(stream.next(), carried)
    loss.nats.backward()


def test_every_parameter_learns(model: NeuralModel) -> None:
    model.train()
    loss, _ = model.loss(Stream(TEXT, batch_size=B, window=30).next(), None)
    (loss.nats / loss.tokens + loss.penalty).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_a_step_along_the_gradient_lowers_the_loss(model: NeuralModel) -> None:
    batch = Stream(TEXT, batch_size=B, window=30).next()
    before, _ = model.loss(batch, None)
    before.nats.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 1e-5 * parameter.grad
    assert model.loss(batch, None)[0].nats < before.nats


def test_single_precision_is_close_to_double(model: NeuralModel) -> None:
    batch = Stream(TEXT, batch_size=B, window=13).next()
    exact, _ = model.loss(batch, None)
    single, carried = model.float().loss(batch, None)
    assert single.nats.dtype == torch.float32
    assert all(not t.is_floating_point() or t.dtype == torch.float32 for t in tensors(carried))
    assert single.nats.item() == pytest.approx(exact.nats.item(), rel=1e-5)


# --- Formulas


@pytest.mark.parametrize("direct", [False, True])
def test_the_formula_of_bengio(direct: bool) -> None:
    model = make("feed-forward", order=4, hidden_size=7, direct=direct)
    words = [3, 9, 4]
    x = torch.cat([model.input.weight[word] for word in words])  # oldest first
    h = torch.tanh(model.hidden.bias + model.hidden.weight @ x)
    u, w = model.output.weight[:, :7], model.output.weight[:, 7:]
    y = model.output.bias + u @ h
    if direct:
        y = y + w @ x
    assert w.shape == (SIZE, 15 if direct else 0)
    found = model.predict(model.read(torch.tensor([words]), model.start(1)))[0]
    assert torch.allclose(found, y.log_softmax(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_formula_of_the_log_bilinear_model(diagonal: bool) -> None:
    model = make("log-bilinear", order=4, diagonal=diagonal)
    words = [3, 9, 4]
    vectors = [model.input.weight[word] for word in words]
    if diagonal:
        parts = [c * vector for c, vector in zip(model.places, vectors, strict=True)]
    else:
        matrices = [model.places[:, 5 * place : 5 * place + 5] for place in range(3)]
        parts = [c @ vector for c, vector in zip(matrices, vectors, strict=True)]
    predicted = sum(parts)
    y = torch.stack([predicted @ vector for vector in model.input.weight]) + model.output.bias
    found = model.predict(model.read(torch.tensor([words]), model.start(1)))[0]
    assert torch.allclose(found, y.log_softmax(0), rtol=0, atol=1e-12)


def test_a_fresh_log_bilinear_model_predicts_the_mean_of_its_words() -> None:
    ids = torch.tensor([[3, 9, 4]])
    for diagonal in (False, True):
        model = make("log-bilinear", order=4, diagonal=diagonal, init="default")
        state = model.read(ids, model.start(1))
        mean = model.input.weight[ids[0]].mean(0)
        assert torch.allclose(state[0][0], mean, atol=1e-7)


def test_the_formula_of_elmans_network() -> None:
    model = make("recurrent", cell="elman", hidden_size=4)
    weights = model.stack.layers[0].directions[0].weights
    h = torch.zeros(4, dtype=torch.float64)
    for word in [EOS, 3, 9]:
        x = model.input.weight[word]
        h = torch.tanh(
            weights["hidden_input"] @ x + weights["hidden_state"] @ h + weights["hidden_bias"]
        )
    predicted = (
        model.output.project.weight @ h + model.output.project.bias
    )  # tied, and 4 units are not 5
    y = model.input.weight @ predicted + model.output.bias
    found = model.predict(model.read(torch.tensor([[3, 9]]), model.start(1)))[0]
    assert torch.allclose(found, y.log_softmax(0), rtol=0, atol=1e-12)


def test_a_text_begins_after_a_line_end(model: NeuralModel) -> None:
    begun = model.read(torch.full((2, 1), EOS), (torch.zeros(2), model.begin(2)))
    for one, other in zip(tensors(begun), tensors(model.start(2)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", ["feed-forward", "log-bilinear", "recurrent"])
def test_lines_that_stand_by_themselves(kind: str) -> None:
    """After a line end nothing before it matters, in each row by itself."""
    model = make(kind, context="line")
    assert model.resets_at_lines
    assert not make(kind).resets_at_lines
    ids = torch.tensor([[3, 4, EOS, 5, 6, 7], [8, EOS, 9, 3, EOS, 4], [1, 2, 3, 4, 5, EOS]])
    whole, _ = model.score(ids, model.start(3))
    for row in range(3):
        state, expected = model.start(1), []
        for word in ids[row]:
            expected.append(model.predict(state)[0, word])
            state = model.start(1) if word == EOS else model.read(word.view(1, 1), state)
        assert torch.allclose(whole[row], torch.stack(expected), rtol=0, atol=1e-12)


def test_tied_weights_are_one_and_a_bridge_spans_other_sizes() -> None:
    tied = make("recurrent", hidden_size=5)
    assert tied.output.weight is None
    assert tied.output.project is None
    assert make("recurrent", hidden_size=6).output.project.weight.shape == (5, 6)
    untied = make("recurrent", hidden_size=6, tied=False)
    assert untied.output.project is None
    assert untied.output.weight.shape == (SIZE, 6)
    shared = sum(parameter.numel() for parameter in tied.parameters())
    assert shared == SIZE * 5 + SIZE + 4 * 5 * (5 + 5 + 1)


@pytest.mark.parametrize("kind", INITIALISERS)
def test_initial_weights(kind: str) -> None:
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


# --- Training only


def test_whole_words_are_dropped_everywhere() -> None:
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


def test_a_dropped_word_can_still_be_predicted() -> None:
    """Tied or not, the output sees all vectors."""
    model = make("recurrent", hidden_size=5, dropout_words=0.9).train()
    hidden = torch.randn(2, 5, dtype=torch.float64)
    targets = torch.tensor([3, 4])
    losses = {model.output.loss((hidden,), targets, model.shared_table()).item() for _ in range(5)}
    assert len(losses) == 1


@pytest.mark.parametrize("lines", [False, True])
def test_penalties_are_those_of_awd_lstm_and_of_training_alone(lines: bool) -> None:
    batch = (
        Lines(TEXT, batch_size=6, eos_id=EOS) if lines else Stream(TEXT, batch_size=3, window=9)
    ).next()
    model = make(
        "recurrent", dropout_output=0.5, activation_penalty=2.0, temporal_penalty=1.0
    ).train()
    torch.manual_seed(5)
    found, _ = model.loss(batch, None)
    torch.manual_seed(5)
    state = model.begin_encoding(len(batch.inputs))
    run = model.stack(model.input(batch.inputs), state, lengths=batch.lengths)
    mask = None
    if lines:
        mask = torch.arange(batch.inputs.shape[1]) < batch.lengths[:, None]
    ar, tar = activation_penalty(run.outputs, mask), temporal_penalty(run.raw_outputs, mask)
    assert ar > 0
    assert tar > 0
    assert torch.allclose(found.penalty, 2 * ar + tar, rtol=1e-12)
    assert model.eval().loss(batch, None)[0].penalty == 0


def test_each_penalty_alone() -> None:
    batch = Stream(TEXT, batch_size=3, window=9).next()
    both, ar, tar, none = (
        make("recurrent", activation_penalty=a, temporal_penalty=b).train().loss(batch, None)[0]
        for a, b in [(2.0, 3.0), (2.0, 0.0), (0.0, 3.0), (0.0, 0.0)]
    )
    assert torch.allclose(both.penalty, ar.penalty + tar.penalty)
    assert ar.penalty.requires_grad
    assert tar.penalty.requires_grad
    assert none.penalty == 0


@pytest.mark.parametrize("direct", [False, True])
def test_dropout_of_the_feed_forward_model_falls_on_everything_once(direct: bool) -> None:
    model = make("feed-forward", order=3, hidden_size=400, direct=direct, dropout=0.3).train()
    words = torch.ones(1, 50, 10, dtype=torch.float64)
    dropped = model.features(words).eq(0).double()
    assert dropped[..., :400].mean().item() == pytest.approx(0.3, abs=0.02)
    if direct:
        assert dropped[..., 400:].mean().item() == pytest.approx(0.3, abs=0.06)
    model.eval()
    assert not model.features(words).eq(0).any()


def test_dropout_of_the_log_bilinear_model_falls_on_its_prediction() -> None:
    model = make("log-bilinear", order=3, embedding_size=100, dropout=0.3).train()
    words = torch.randn(1, 50, 200, dtype=torch.float64)
    assert model.features(words).eq(0).double().mean().item() == pytest.approx(0.3, abs=0.03)


# --- Cost


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


def test_multiplications_of_other_families() -> None:
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


# --- Wrong settings


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("recurrent", {"bidirectional": True}, "may not see the words it predicts"),
        ("recurrent", {"cell": "lsmt"}, "unknown cell 'lsmt'; did you mean 'lstm'"),
        (
            "recurrent",
            {"activation_penalty": -1.0},
            "activation_penalty=-1.0: must not be negative",
        ),
        ("recurrent", {"temporal_penalty": -1.0}, "temporal_penalty=-1.0: must not be negative"),
        ("recurrent", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("recurrent", {"connection": "residual"}, "must be equal"),
        ("recurrent", {"output": "ful"}, "unknown output 'ful'; did you mean 'full'"),
        ("recurrent", {"init": "xavier"}, "unknown init 'xavier'"),
        ("recurrent", {"init_scale": -0.1}, "init_scale=-0.1: must not be negative"),
        ("recurrent", {"init_scale": float("nan")}, "init_scale=nan: must not be negative"),
        ("recurrent", {"dropout_words": 1.0}, "dropout_words=1.0: must be from 0 to below 1"),
        ("recurrent", {"embedding_size": 0}, "embedding_size=0: must be at least 1"),
        ("recurrent", {"embedding_size": "many"}, "embedding_size='many': expected a whole number"),
        ("recurrent", {"context": "lines"}, "unknown context 'lines'; did you mean 'line'"),
        (
            "recurrent",
            {"output": "sampled", "output_options": {"samples": 1}},
            "samples=1: must be at least 2",
        ),
        ("feed-forward", {"order": 1}, "order=1: must be at least 2"),
        ("feed-forward", {"order": "4"}, "order='4': expected a whole number"),
        ("feed-forward", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("feed-forward", {"dropout": -0.1}, "dropout=-0.1: must be from 0 to below 1"),
        ("feed-forward", {"direct": True, "tied": True}, "tied=false"),
        ("log-bilinear", {"order": 0}, "order=0: must be at least 2"),
        ("log-bilinear", {"dropout": 1.5}, "dropout=1.5: must be from 0 to below 1"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_settings_are_refused_in_one_line(kind: str, settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(kind, **settings)
    assert "\n" not in str(caught.value)


# --- Arrays


def test_arrays_that_are_not_the_models_are_refused(model: NeuralModel) -> None:
    arrays = model.arrays()
    name = "input.weight"
    with pytest.raises(ValueError, match="not the model's: input.weight"):
        model.load_arrays({key: value for key, value in arrays.items() if key != name})
    with pytest.raises(ValueError, match="not the model's: another"):
        model.load_arrays(arrays | {"another": arrays[name]})
    with pytest.raises(ValueError, match=r"input.weight is \(11, 4\), not \(11, 5\)"):
        model.load_arrays(arrays | {name: arrays[name][:, :4]})


def test_loading_takes_over_every_array(model: NeuralModel) -> None:
    arrays = {name: array.copy() for name, array in model.arrays().items()}
    ids = torch.from_numpy(TEXT[:12]).view(2, 6)
    expected = model.score(ids, model.start(2))[0]
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.zero_()
    model.load_arrays(arrays)
    assert torch.equal(model.score(ids, model.start(2))[0], expected)
    assert all(parameter.requires_grad for parameter in model.parameters())
    with torch.no_grad():
        model.input.weight.zero_()
    assert np.any(arrays["input.weight"])  # a copy was taken


def test_descriptions_are_plain(model: NeuralModel) -> None:
    description = model.describe()
    assert description["model"] in MODELS
    assert description["vocabulary_size"] == SIZE
    assert description["parameters"] == sum(each.numel() for each in model.parameters())


# --- Sizes from a number of parameters


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm", "mut1", "nas", "min-gru"])
def test_the_largest_model_within_a_number_of_parameters(cell: str) -> None:
    model = make("recurrent", cell=cell, parameters=2000)
    count = model.facts()["parameters"]
    larger = model.config.hidden_size + 1
    more = make("recurrent", cell=cell, hidden_size=larger, embedding_size=larger)
    assert count <= 2000 < more.facts()["parameters"]
    assert model.config.embedding_size == model.config.hidden_size
    again = type(model).restore(model.config, model.arrays(), model.facts())
    assert again.facts() == model.facts()


def test_too_few_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="parameters=10: this model has .* with one unit"):
        make("recurrent", parameters=10)


def test_what_has_no_table_cannot_be_tied() -> None:
    with pytest.raises(InputError, match="'characters' has no table.*set model.tied=false"):
        make("recurrent", input="characters")
