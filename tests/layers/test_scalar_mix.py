"""The mix of layers: exactly the weighted sum."""

import torch

from elman.layers.scalar_mix import ScalarMix

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
