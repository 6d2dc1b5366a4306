"""word2vec: the loss and its gradients against a loop by hand, noise words, sparse gradients."""

import math

import numpy as np
import pytest
import torch

from elman.batches.contexts import NOBODY, ContextBatch, Contexts
from elman.errors import InputError
from elman.models.word2vec import Word2Vec, Word2VecConfig
from elman.training.settings import TrainingConfig
from elman.training.trainer import Trainer

COUNTS = torch.tensor([0, 8, 4, 2, 1])
CENTRES = torch.tensor([1, 2, 4])
CONTEXTS = torch.tensor([[2, 3, NOBODY, 1], [NOBODY] * 4, [3, NOBODY, 3, 2]])
BATCH = ContextBatch(CENTRES, CONTEXTS, 5)


def small(method: str, **settings: object) -> Word2Vec:
    torch.manual_seed(1)
    config = Word2VecConfig(method=method, embedding_size=3, negatives=2, **settings)  # type: ignore[arg-type]
    model = Word2Vec(config, COUNTS).double()
    torch.nn.init.normal_(model.predictions.weight)
    torch.nn.init.normal_(model.vectors.weight)
    return model


def by_hand(model: Word2Vec, noise: torch.Tensor) -> tuple[float, int, np.ndarray, np.ndarray]:
    """The sum of the loss, its predictions, and both gradients, one number at a time."""
    v, u = (table.weight.detach().numpy() for table in (model.vectors, model.predictions))
    to_v, to_u = np.zeros_like(v), np.zeros_like(u)
    nats, predictions = 0.0, 0
    for centre, around, drawn in zip(CENTRES.tolist(), CONTEXTS.tolist(), noise, strict=True):
        others = [word for word in around if word != NOBODY]
        if model.config.method == "skip-gram":
            bags = [[word] for word in others]
        else:
            bags = [others] if others else []
        for bag in bags:
            predictions += 1
            h = np.mean([v[word] for word in bag], axis=0)
            noisy = [(word, 0.0) for word in drawn.tolist() if word != centre]
            for word, right in [(centre, 1.0), *noisy]:
                p = 1 / (1 + math.exp(-float(u[word] @ h)))
                nats -= math.log(p if right else 1 - p)
                for one in bag:
                    to_v[one] += (p - right) * u[word] / len(bag)
                to_u[word] += (p - right) * h
    return nats, predictions, to_v, to_u


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_loss_and_gradients_equal_those_by_hand(method: str) -> None:
    model = small(method)
    torch.manual_seed(5)
    noise = model.draw(len(BATCH), torch.device("cpu"))
    torch.manual_seed(5)
    loss, _ = model.loss(BATCH)
    loss.nats.backward()  # type: ignore[no-untyped-call]
    nats, predictions, to_v, to_u = by_hand(model, noise)
    assert loss.tokens == predictions == (6 if method == "skip-gram" else 2)
    assert float(loss.nats.detach()) == pytest.approx(nats, rel=1e-12)
    for table, expected in ((model.vectors, to_v), (model.predictions, to_u)):
        gradient = table.weight.grad
        assert gradient is not None
        assert gradient.is_sparse
        np.testing.assert_allclose(gradient.to_dense().numpy(), expected, atol=1e-12)


def test_noise_words_come_by_frequency_to_the_power_three_quarters() -> None:
    model = small("skip-gram")
    torch.manual_seed(0)
    drawn = torch.bincount(model.draw(50_000, torch.device("cpu")).flatten(), minlength=5)
    expected = COUNTS.double() ** 0.75
    torch.testing.assert_close(
        drawn / drawn.sum(), expected / expected.sum(), atol=0.01, rtol=0, check_dtype=False
    )
    assert drawn[0] == 0  # the unknown word is never drawn


def test_validation_draws_the_same_noise_every_time() -> None:
    model = small("skip-gram").eval()
    losses = [float(model.loss(BATCH)[0].nats.detach()) for _ in range(2)]
    assert losses[0] == losses[1]
    model.train()
    torch.manual_seed(9)
    assert float(model.loss(BATCH)[0].nats.detach()) != losses[0]


def _trained(**settings: object) -> dict[str, torch.Tensor]:
    text = [np.random.default_rng(0).integers(1, 5, 400)]
    model = small("skip-gram")
    config = TrainingConfig(batch_size=50, clip=0.5, learning_rate=0.3, **settings)  # type: ignore[arg-type]
    trainer = Trainer(model, Contexts(text, np.ones(5), window=2, batch_size=50), config)
    torch.manual_seed(2)
    for _ in range(6):
        trainer.step()
    return model.state_dict()


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
def test_sparse_steps_equal_dense_steps(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = _trained(optimizer=optimizer)
    monkeypatch.setattr("elman.training.trainer.takes_sparse", lambda config: False)
    dense = _trained(optimizer=optimizer)
    for name, value in sparse.items():
        torch.testing.assert_close(value, dense[name])


@pytest.mark.parametrize(
    "settings",
    [{"optimizer": "adam"}, {"optimizer": "sgd", "momentum": 0.5}, {"weight_decay": 0.1}],
)
def test_optimizers_that_need_dense_gradients_get_them(settings: dict[str, object]) -> None:
    assert all(value.isfinite().all() for value in _trained(**settings).values())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "glove"}, "model.method"),
        ({"window": 0}, "model.window=0: must be at least 1"),
        ({"negatives": 0}, "model.negatives=0"),
        ({"subsample": -1.0}, "model.subsample=-1.0: must not be negative"),
    ],
)
def test_wrong_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Word2VecConfig(**settings)  # type: ignore[arg-type]
