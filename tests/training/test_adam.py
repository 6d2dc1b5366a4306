"""Adam without the roots of zeros: the bits of torch's."""

import itertools
from collections.abc import Iterator

import pytest
import torch

from elman.training.adam import Adam

SIZES = [(3,), (1, 1), (7, 13), (129,), (257, 130), (70_001,), (16_384, 8)]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def pair() -> tuple[list[torch.nn.Parameter], list[torch.nn.Parameter]]:
    """Equal parameters for two optimizers; one of them is not contiguous."""
    drawn = torch.Generator().manual_seed(1)
    values = [torch.randn(*size, generator=drawn) for size in SIZES]
    values.append(torch.randn(300, 200, generator=drawn).t())
    assert not values[-1].is_contiguous()
    return [torch.nn.Parameter(v.clone()) for v in values], [
        torch.nn.Parameter(v.clone()) for v in values
    ]


def give_gradients(step: int, *models: list[torch.nn.Parameter]) -> None:
    """The same gradients to both: mostly zeros, some tiny, and none at all for one of them."""
    drawn = torch.Generator().manual_seed(step)
    for place, parameters in enumerate(zip(*models, strict=True)):
        gradient = torch.randn(*parameters[0].shape, generator=drawn)
        gradient *= torch.rand(gradient.shape, generator=drawn) < 0.2
        gradient *= 10.0 ** torch.randint(-24, 3, gradient.shape, generator=drawn)
        for parameter in parameters:
            parameter.grad = None if (place + step) % 5 == 0 else gradient.clone()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (Adam, torch.optim.Adam, {}),
        (Adam, torch.optim.Adam, {"weight_decay": 0.01}),
        (Adam, torch.optim.Adam, {"betas": (0.0, 0.99), "eps": 1e-6}),
        (Adam, torch.optim.Adam, {"eps": 1e-30}),
    ],
)
def test_the_bits_of_torch(
    ours: type[Adam], theirs: type[torch.optim.Adam], options: dict[str, float]
) -> None:
    mine, reference = pair()
    steps = ours(mine, lr=0.003, **options), theirs(reference, lr=0.003, **options)
    for step in range(12):
        give_gradients(step, mine, reference)
        for one in steps:
            one.param_groups[0]["lr"] = 0.003 / (step + 1)
            one.step()
    for a, b in zip(mine, reference, strict=True):
        assert torch.equal(a, b)
        first, second = (one.state[p] for one, p in zip(steps, (a, b), strict=True))
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first)


def test_one_goes_on_where_the_other_stopped() -> None:
    mine, reference = pair()
    one, other = Adam(mine, lr=0.01), torch.optim.Adam(reference, lr=0.01)
    for step in range(3):
        give_gradients(step, mine, reference)
        one.step()
        other.step()
    swapped = Adam(reference, lr=0.01)
    swapped.load_state_dict(other.state_dict())
    give_gradients(4, mine, reference)
    one.step()
    swapped.step()
    assert all(itertools.starmap(torch.equal, zip(mine, reference, strict=True)))


def test_other_numbers_are_left_to_torch() -> None:
    mine, reference = (torch.nn.Parameter(torch.ones(5, dtype=torch.float64)) for _ in range(2))
    one, other = Adam([mine], lr=0.1), torch.optim.Adam([reference], lr=0.1)
    for parameter, optimizer in ((mine, one), (reference, other)):
        parameter.grad = torch.arange(5, dtype=torch.float64)
        optimizer.step()
    assert torch.equal(mine, reference)


def test_zero_gradients_of_a_closure() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = Adam([parameter], lr=0.1)

    def closure() -> torch.Tensor:
        loss = (parameter**2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    assert optimizer.step(closure) == 3
    assert bool((parameter < 1).all())
