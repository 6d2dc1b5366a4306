"""Maximum likelihood by gradient descent: where and how wide is the bell that data came from?

    python examples/maximum_likelihood.py [--picture FILE.png]

A normal distribution with unknown mean and width; the loss is the negative log likelihood of the
data, and every step is the five lines that train every model of this package: predict, measure the
loss, backward, step, zero the gradients. The answer is known in closed form (mean and standard
deviation of the data), so one can see the descent arrive there.
"""

import argparse
import math

import torch

DATA, STEPS, RATE = 200, 200, 0.1


def descend(data: torch.Tensor) -> list[tuple[float, float, float]]:
    """Mean, width and loss per data point after every step."""
    mean = torch.zeros((), requires_grad=True)
    log_width = torch.zeros((), requires_grad=True)  # a width is positive: learn its logarithm
    optimizer = torch.optim.SGD([mean, log_width], lr=RATE)
    path = []
    for _ in range(STEPS):
        prediction = torch.distributions.Normal(mean, log_width.exp())
        loss = -prediction.log_prob(data).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        path.append((mean.item(), log_width.exp().item(), loss.item()))
    return path


def draw(path: list[tuple[float, float, float]], data: torch.Tensor, picture: str) -> None:
    """The loss over the steps, and the bell over the data."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([loss for _, _, loss in path])
    left.set(xlabel="step", ylabel="nats per data point", title="negative log likelihood")
    right.hist(data.tolist(), bins=25, density=True, color="lightgrey")
    xs = torch.linspace(float(data.min()), float(data.max()), 200)
    for step in (0, 20, STEPS - 1):
        mean, width, _ = path[step]
        bell = torch.distributions.Normal(mean, width).log_prob(xs).exp()
        right.plot(xs, bell, label=f"after step {step + 1}")
    right.legend()
    figure.savefig(picture)


def main() -> None:
    """Draw data, descend, compare with the closed form."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", help="draw the descent into this file")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    data = 3 + 1.5 * torch.randn(DATA)
    path = descend(data)
    print(f"{'step':>6}{'mean':>9}{'width':>9}{'nats':>9}")
    for step in (1, 2, 5, 10, 20, 50, 100, STEPS):
        mean, width, loss = path[step - 1]
        print(f"{step:>6}{mean:>9.4f}{width:>9.4f}{loss:>9.4f}")
    mean, width = data.mean().item(), data.std(correction=0).item()
    least = math.log(width) + 0.5 * math.log(2 * math.pi) + 0.5
    print(f"{'exact':>6}{mean:>9.4f}{width:>9.4f}{least:>9.4f}")
    if arguments.picture:
        draw(path, data, arguments.picture)


if __name__ == "__main__":
    main()
