"""A frozen language model as features of a task: mixed, passed on, never changed."""

import pytest
import torch

from elman.batches.sentences import ExampleBatch, SentenceReader
from elman.errors import InputError
from elman.layers.elmo import Contextual, ScalarMix
from elman.models.bidirectional import BidirectionalConfig, BidirectionalModel
from elman.models.tagger import Tagger, TaggerConfig
from elman.text.word_list import WordList

LAYERS = torch.arange(12.0).view(3, 1, 2, 2)


def test_at_first_it_is_the_mean() -> None:
    torch.testing.assert_close(ScalarMix(3)(LAYERS), LAYERS.mean(0))


def test_the_weighted_sum() -> None:
    mix = ScalarMix(3)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 1.0, -1.0]))
        mix.scale.fill_(2.0)
    shares = torch.tensor([0.0, 1.0, -1.0]).softmax(0)
    expected = 2 * (shares[0] * LAYERS[0] + shares[1] * LAYERS[1] + shares[2] * LAYERS[2])
    torch.testing.assert_close(mix(LAYERS), expected)


def test_with_normalised_layers_padding_does_not_count() -> None:
    mix = ScalarMix(1, layer_norm=True)
    real = torch.tensor([[True, True, False]])
    layer = torch.tensor([[[1.0, 3.0], [5.0, 7.0], [100.0, -100.0]]])
    mixed = mix(layer[None], real)
    numbers = torch.tensor([1.0, 3.0, 5.0, 7.0])
    expected = (numbers - 4) / numbers.var(correction=0).sqrt()
    torch.testing.assert_close(mixed[0, :2].flatten(), expected)


TEXT = ["the cat sat".split(), "dogs bark".split(), "yes".split()]
WORDS = WordList.learn(TEXT)
COUNTS = torch.from_numpy(WORDS.counts)
SENTENCES = SentenceReader(WORDS).read(TEXT)
TAGS = torch.tensor([[0, 1, 2], [1, 2, 0], [1, 0, 0]])


def language_model() -> BidirectionalModel:
    torch.manual_seed(2)
    config = BidirectionalConfig(
        character_size=4, widths=(1, 3), filters=(5, 7), projection=6, hidden_size=8, samples=4,
        dropout=0.5,
    )  # fmt: skip
    return BidirectionalModel(config, COUNTS)


def tagger(model: BidirectionalModel | None, **settings) -> Tagger:
    torch.manual_seed(4)
    settings = {"embedding_size": 5, "spelling_size": 3, "hidden_size": 7, **settings}
    return Tagger(TaggerConfig(**settings), COUNTS, 3, model)


def test_it_is_the_weighted_sum_of_layers() -> None:
    model = language_model()
    contextual = Contextual(model, uses=2)
    with torch.no_grad():
        contextual.mixes[0].weights.copy_(torch.tensor([0.0, 1.0, 2.0]))
        contextual.mixes[0].scale.fill_(3.0)
    first, second = contextual(SENTENCES)
    layers = model.layers(SENTENCES)
    shares = torch.tensor([0.0, 1.0, 2.0]).exp() / torch.tensor([0.0, 1.0, 2.0]).exp().sum()
    torch.testing.assert_close(first, 3 * sum(s * h for s, h in zip(shares, layers, strict=True)))
    torch.testing.assert_close(second, layers.mean(0))
    assert first.shape == (3, 3, contextual.size)


def test_the_model_stays_in_evaluation() -> None:
    task = tagger(language_model()).train()
    assert task.encoder.training
    assert not any(part.training for part in task.encoder.contextual.model.modules())
    first, second = (task.encoder.contextual(SENTENCES)[0] for _ in range(2))
    assert torch.equal(first, second)  # no dropout


@pytest.mark.parametrize("output", [False, True])
def test_it_stays_bit_identical_while_a_task_learns(output: bool) -> None:
    model = language_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    task = tagger(model, contextual_output=output).train()
    start = [value.clone() for value in task.encoder.contextual.mixes.parameters()]
    optimizer = torch.optim.AdamW(task.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(3):
        loss, _ = task.loss(ExampleBatch((SENTENCES,), TAGS, (6,)))
        optimizer.zero_grad()
        loss.nats.backward()
        optimizer.step()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(parameter.requires_grad for parameter in model.parameters())
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    learned = task.encoder.contextual.mixes.parameters()
    assert len(start) == (4 if output else 2)
    assert all(not torch.equal(a, b) for a, b in zip(start, learned, strict=True))


@pytest.mark.parametrize("encoder", ["recurrent", "window"])
def test_features_and_outputs_grow_by_its_size(encoder: str) -> None:
    without, with_input, with_both = (
        tagger(None, encoder=encoder),
        tagger(language_model(), encoder=encoder),
        tagger(language_model(), encoder=encoder, contextual_output=True),
    )
    assert with_input.encoder.features.size == without.encoder.features.size + 12
    assert with_input.encoder.size == without.encoder.size
    assert with_both.encoder.size == without.encoder.size + 12
    assert with_both.eval().encoder(SENTENCES).shape == (3, 3, with_both.encoder.size)


def test_vectors_are_at_the_end_of_the_features_and_of_the_output() -> None:
    task = tagger(language_model(), contextual_output=True).eval()
    first, second = task.encoder.contextual(SENTENCES)
    features = task.encoder.features(SENTENCES, first)
    torch.testing.assert_close(features[..., -12:], first)
    torch.testing.assert_close(task.encoder(SENTENCES)[..., -12:], second)


def test_tags_do_not_depend_on_batch_or_padding() -> None:
    task = tagger(language_model(), contextual_output=True).eval()
    together = task.encoder(SENTENCES)
    for row, sentence in enumerate(TEXT):
        alone = task.encoder(SentenceReader(WORDS).read([sentence]))[0]
        torch.testing.assert_close(together[row, : len(sentence)], alone)


def test_output_without_a_language_model_is_refused() -> None:
    with pytest.raises(InputError, match="contextual_output"):
        tagger(None, contextual_output=True)
