"""A multi-layer perceptron for non-linear regression: why a network needs its non-linearity.

    python examples/regression.py [--picture FILE.png]

Noisy points of a curve are fitted by y = U f(W x + b) + c with several functions f. Without one
(f = identity) the two layers are a straight line, however many units there are.
"""

import argparse
from collections.abc import Callable

import torch

POINTS, UNITS, STEPS = 200, 32, 1500
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda z: z,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
}
NOISE = 0.1


class Perceptron(torch.nn.Module):
    """One hidden layer."""

    def __init__(self, activation: str) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(1, UNITS)
        self.output = torch.nn.Linear(UNITS, 1)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, 1) to (N, 1)."""
        h = self.activation(self.hidden(x))  # (N, UNITS)
        return self.output(h)


def curve(x: torch.Tensor) -> torch.Tensor:
    """What is to be found."""
    return torch.sin(2 * x) + 0.3 * x


def fit(activation: str, x: torch.Tensor, y: torch.Tensor) -> tuple[Perceptron, float]:
    """A trained network, and its mean squared error on the points."""
    torch.manual_seed(1)
    network = Perceptron(activation)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(STEPS):
        loss = torch.nn.functional.mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return network, loss.item()


def draw(networks: dict[str, Perceptron], x: torch.Tensor, y: torch.Tensor, picture: str) -> None:
    """The points, and what each network makes of them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.scatter(x.tolist(), y.tolist(), s=6, color="lightgrey")
    line = torch.linspace(-3, 3, 300)[:, None]
    with torch.inference_mode():
        for name, network in networks.items():
            axes.plot(line.flatten().tolist(), network(line).flatten().tolist(), label=name)
    axes.legend()
    figure.savefig(picture)


def main() -> None:
    """Fit the curve with every activation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", help="draw the fits into this file")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    x = 6 * torch.rand(POINTS, 1) - 3
    y = curve(x) + NOISE * torch.randn(POINTS, 1)
    fitted = {name: fit(name, x, y) for name in ACTIVATIONS}
    print(f"{'activation':<12}{'mean squared error':>20}")
    for name, (_, error) in fitted.items():
        print(f"{name:<12}{error:>20.4f}")
    print(f"{'(noise)':<12}{NOISE**2:>20.4f}")
    if arguments.picture:
        draw({name: network for name, (network, _) in fitted.items()}, x, y, arguments.picture)


if __name__ == "__main__":
    main()
