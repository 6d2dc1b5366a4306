"""The bidirectional language model: what each direction sees and predicts."""

from dataclasses import replace

import pytest
import torch

from elman.batches.sentences import ExampleBatch, SentenceReader, Sentences
from elman.config import as_data, build
from elman.errors import InputError
from elman.models.bidirectional import BidirectionalConfig, BidirectionalModel
from elman.text.word_list import WordList

TEXT = [
    "the cat sat on the mat".split(),
    "dogs bark".split(),
    "a very long sentence about nothing in particular".split(),
    "yes".split(),
]
WORDS = WordList.learn(TEXT)
READER = SentenceReader(WORDS)


def make(**changes) -> BidirectionalModel:
    sizes = {"character_size": 4, "widths": (1, 3), "filters": (5, 7), "projection": 6}
    torch.manual_seed(3)
    config = BidirectionalConfig(**{**sizes, "hidden_size": 11, "samples": 4, **changes})
    model = BidirectionalModel(config, torch.from_numpy(WORDS.counts))
    with torch.no_grad():
        for parameter in model.readers.parameters():
            parameter.mul_(3)  # so that words make a difference
    return model.eval()


def batch(sentences: Sentences) -> ExampleBatch:
    return ExampleBatch((sentences,), sentences.words, (0,))


def spelled_otherwise(sentences: Sentences, place: int) -> Sentences:
    """The same ids; but the word at the place of the first row looks different."""
    other = READER.read([["unheard"]]).spelled
    width = max(other.shape[1], sentences.spelled.shape[1])
    spelled = torch.cat(
        [
            torch.nn.functional.pad(rows, (0, width - rows.shape[1]))
            for rows in (sentences.spelled, other)
        ]
    )
    places = sentences.places.clone()
    places[0, place] = len(spelled) - 1
    return replace(sentences, spelled=spelled, places=places)


@pytest.mark.parametrize("place", range(6))
def test_no_direction_sees_the_word_it_predicts(place: int) -> None:
    """Forward, a word changes what is predicted after it; backward, what is predicted before it."""
    model, sentences = make(), READER.read(TEXT)
    before = model.score(sentences)
    after = model.score(spelled_otherwise(sentences, place))
    changed = before != after
    position = place + 1  # x_0 is the begin of the sentence
    steps = torch.arange(changed.shape[2])
    length = len(TEXT[0])
    # x_{k+1} is predicted from x_0 … x_k
    assert changed[0, 0].tolist() == ((steps >= position) & (steps <= length)).tolist()
    # x_k is predicted from x_{k+1} … x_{n+1}
    assert changed[1, 0].tolist() == (steps < position).tolist()
    assert not changed[:, 1:].any()  # other sentences


@pytest.mark.parametrize("direction", [0, 1])
def test_probabilities_of_all_words_sum_to_one(direction: int) -> None:
    model, sentences = make(), READER.read(TEXT[:1])
    total = 0.0
    for word in range(len(WORDS) + 2):
        words = sentences.words.clone()
        words[0, 2] = word  # x_3
        score = model.score(replace(sentences, words=words))[direction, 0]
        total += float(score[2 if direction == 0 else 3].exp())
    assert total == pytest.approx(1, abs=1e-5)


def test_the_loss_is_the_sum_of_all_scores() -> None:
    model, sentences = make(), READER.read(TEXT)
    loss, carried = model.loss(batch(sentences))
    assert carried == ()
    assert loss.tokens == 2 * sum(len(sentence) + 1 for sentence in TEXT)
    torch.testing.assert_close(loss.nats, -model.score(sentences).sum())
    alone = sum(model.loss(batch(READER.read([sentence])))[0].nats for sentence in TEXT)
    torch.testing.assert_close(loss.nats, alone)


def test_scores_are_zero_beyond_a_sentence() -> None:
    scores = make().score(READER.read(TEXT))
    for row, sentence in enumerate(TEXT):
        assert (scores[:, row, : len(sentence) + 1] < 0).all()
        assert (scores[:, row, len(sentence) + 1 :] == 0).all()


def test_an_empty_sentence_is_two_boundaries() -> None:
    model = make()
    loss, _ = model.loss(batch(READER.read([[], ["yes"]])))
    assert loss.tokens == 2 + 4
    assert (model.layers(READER.read([[], ["yes"]]))[:, 0] == 0).all()


def test_layers_do_not_depend_on_batch_or_padding() -> None:
    model = make()
    layers = model.layers(READER.read(TEXT))
    assert layers.shape == (3, 4, 8, 12)
    for row, sentence in enumerate(TEXT):
        alone = model.layers(READER.read([sentence]))[:, 0]
        torch.testing.assert_close(layers[:, row, : len(sentence)], alone)
        assert (layers[:, row, len(sentence) :] == 0).all()
    turned = model.layers(READER.read(TEXT[::-1])).flip(1)
    torch.testing.assert_close(layers, turned)


def test_the_first_layer_is_characters_twice() -> None:
    model, sentences = make(), READER.read(TEXT)
    alone = model.characters(sentences.spelled)[sentences.places]
    layer = model.layers(sentences)[0]
    real = sentences.real()
    torch.testing.assert_close(layer[real], torch.cat([alone, alone], 2)[real])


def test_halves_of_layers_know_what_was_read() -> None:
    """The first half of a word's vector knows it and those before it, the other those after it."""
    model, sentences = make(), READER.read(TEXT)
    changed = model.layers(sentences) != model.layers(spelled_otherwise(sentences, 2))
    onward, back = changed[1:, 0].chunk(2, dim=2)
    assert onward.any(2).tolist() == [[False] * 2 + [True] * 4 + [False] * 2] * 2
    assert back.any(2).tolist() == [[True] * 3 + [False] * 5] * 2


def test_a_residual_layer_adds_its_input() -> None:
    with_input, without = make(), make(residual=False)
    without.load_state_dict(with_input.state_dict())
    sentences = READER.read(TEXT)
    first, second = (model.layers(sentences) for model in (with_input, without))
    torch.testing.assert_close(first[:2], second[:2])
    torch.testing.assert_close(first[2], second[2] + second[1])


def test_outputs_are_clipped() -> None:
    model = make(projection_clip=0.01, num_layers=1)
    layer = model.layers(READER.read(TEXT))[1].detach()
    assert float(layer.abs().max()) == pytest.approx(0.01)


def test_without_sampling_training_is_evaluation() -> None:
    model, sentences = make(samples=100, dropout=0.0), READER.read(TEXT)
    exact = model.loss(batch(sentences))[0]
    learned = model.train().loss(batch(sentences))[0]
    torch.testing.assert_close(learned.nats, exact.nats)
    assert learned.tokens == exact.tokens


def test_sampling_comes_near() -> None:
    words = WordList([f"w{n}" for n in range(400)], [400 // (n + 1) for n in range(400)],
                     lowercase=False, digits_alike=False)  # fmt: skip
    config = BidirectionalConfig(character_size=4, widths=(1, 3), filters=(5, 7), projection=6,
                                 hidden_size=11, samples=80, dropout=0.0)  # fmt: skip
    torch.manual_seed(1)
    model = BidirectionalModel(config, torch.from_numpy(words.counts))
    drawn = torch.multinomial(torch.from_numpy(words.counts).double(), 60, replacement=True)
    sentences = SentenceReader(words).read([[f"w{n - 1}" for n in drawn.tolist()]])
    with torch.no_grad():
        exact = float(model.eval().loss(batch(sentences))[0].nats)
        model.train()
        sampled = torch.stack([model.loss(batch(sentences))[0].nats for _ in range(50)])
    assert float(sampled.mean()) == pytest.approx(exact, rel=0.02)
    assert float(sampled.std()) > 0


def test_every_weight_learns() -> None:
    model = make().train()
    model.loss(batch(READER.read(TEXT)))[0].nats.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_it_learns() -> None:
    model, examples = make(dropout=0.0).train(), batch(READER.read(TEXT))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(100):
        loss, _ = model.loss(examples)
        optimizer.zero_grad()
        loss.nats.backward()
        optimizer.step()
    loss, _ = model.eval().loss(examples)
    assert float(loss.nats.detach()) / loss.tokens < 0.5


def test_without_counts_it_embeds_but_does_not_score() -> None:
    model = BidirectionalModel(make().config)
    assert model.layers(READER.read(TEXT)).shape == (3, 4, 8, 12)
    with pytest.raises(InputError, match="no softmax"):
        model.loss(batch(READER.read(TEXT)))
    with pytest.raises(InputError, match="no softmax"):
        model.score(READER.read(TEXT))


def test_defaults_are_those_of_the_paper() -> None:
    config = BidirectionalConfig()
    assert sum(config.filters) == 2048
    assert (config.projection, config.hidden_size, config.num_layers) == (512, 4096, 2)
    assert (config.cell_clip, config.projection_clip, config.dropout) == (3, 3, 0.1)
    with torch.device("meta"):
        model = BidirectionalModel(config)
    # 93.6 million, as Peters et al. say of the published one
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 1) == 93.6


def test_hidden_vectors_may_be_as_small_as_the_projection() -> None:
    model = make(hidden_size=6)
    assert "projection" not in model.readers[0].stack[0].weights
    assert model.layers(READER.read(TEXT)).shape == (3, 4, 8, 12)


def test_settings_survive_plain_data() -> None:
    config = make().config
    assert build(BidirectionalConfig, as_data(config), "model") == config


@pytest.mark.parametrize(
    "wrong",
    [
        {"hidden_size": 5},
        {"projection": 0},
        {"num_layers": 0},
        {"highways": -1},
        {"dropout": 1.0},
        {"filters": (1,)},
        {"cell_clip": 0.0},
        {"samples": 1},
    ],
)
def test_settings_that_cannot_be(wrong: dict) -> None:
    with pytest.raises(InputError):
        make(**wrong)


def table_and_ids(model: BidirectionalModel, sentence: list[str]) -> tuple[torch.Tensor, list[int]]:
    """The vectors of a sentence, its two boundaries included, in reading order."""
    sentences = READER.read([sentence])
    table = model.characters(sentences.spelled)
    return table, [len(table) - 2, *sentences.places[0].tolist(), len(table) - 1]


@pytest.mark.parametrize("residual", [True, False])
def test_carrying_the_state_is_reading_on(residual: bool) -> None:
    """Forward, two sentences are one text; backward, each is reversed and they are one text."""
    model = make(residual=residual)
    first, second = TEXT[2], TEXT[0]
    _, state = model.layers_and_state(READER.read([first]), model.start(1))
    layers, _ = model.layers_and_state(READER.read([second]), state)
    for direction, reader in enumerate(model.readers):
        vectors = []
        for sentence in (first, second):
            table, rows = table_and_ids(model, sentence)
            vectors.append(table[rows[::-1] if direction else rows])
        outputs, _ = reader(torch.cat(vectors)[None])
        for number, output in enumerate(outputs, 1):
            seen = output[0, -len(second) - 1 : -1]  # without the last boundary
            expected = seen.flip(0) if direction else seen
            found = layers[number, 0, :, 6 * direction : 6 * direction + 6]
            torch.testing.assert_close(found, expected)
    assert not torch.allclose(layers, model.layers(READER.read([second])), atol=1e-3)


def test_nothing_carried_is_a_fresh_sentence() -> None:
    model, sentences = make(), READER.read(TEXT)
    layers, _ = model.layers_and_state(sentences, model.start(len(TEXT)))
    torch.testing.assert_close(layers, model.layers(sentences))


def test_the_state_of_a_row_is_its_own() -> None:
    """Padding does not change it, nor do the other rows."""
    model, others = make(), [[*reversed(sentence)] for sentence in TEXT]
    _, state = model.layers_and_state(READER.read(TEXT), model.start(4))
    layers, _ = model.layers_and_state(READER.read(others), state)
    for row, (before, after) in enumerate(zip(TEXT, others, strict=True)):
        _, alone = model.layers_and_state(READER.read([before]), model.start(1))
        expected, _ = model.layers_and_state(READER.read([after]), alone)
        torch.testing.assert_close(layers[:, row, : len(after)], expected[:, 0])
