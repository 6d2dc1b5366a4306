"""States: nested tuples of tensors, batch first; selecting and joining rows."""

import torch

from elman.state import combine, detach, from_named, join, map_state, named_tensors, select, tensors


def nested() -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    return torch.arange(3), (torch.arange(6).view(3, 2), torch.arange(3) * 10.0)


def same(first: object, second: object) -> bool:
    pairs = zip(tensors(first), tensors(second), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


def test_rows_may_be_reordered_and_repeated() -> None:
    chosen = select(nested(), torch.tensor([2, 0, 2]))
    assert isinstance(chosen, tuple)
    assert isinstance(chosen[1], tuple)
    expected = [[2, 0, 2], [[4, 5], [0, 1], [4, 5]], [20.0, 0.0, 20.0]]
    assert [tensor.tolist() for tensor in tensors(chosen)] == expected


def test_no_rows_are_a_state_too() -> None:
    shapes = [tuple(t.shape) for t in tensors(select(nested(), torch.tensor([], dtype=torch.long)))]
    assert shapes == [(0,), (0, 2), (0,)]


def test_joined_rows_stand_below_each_other() -> None:
    rows = [select(nested(), torch.tensor([row])) for row in range(3)]
    assert same(join(rows), nested())
    assert torch.equal(join([torch.zeros(2), torch.ones(1)]), torch.tensor([0.0, 0.0, 1.0]))


def test_a_detached_state_has_no_graph() -> None:
    weight = torch.ones(1, requires_grad=True)
    state = map_state(lambda tensor: tensor * weight, nested())
    assert all(tensor.requires_grad for tensor in tensors(state))
    assert not any(tensor.requires_grad for tensor in tensors(detach(state)))
    assert same(detach(state), nested())


def test_tensors_in_order() -> None:
    state = nested()
    assert [tensor.shape for tensor in tensors(state)] == [(3,), (3, 2), (3,)]
    assert tensors(state)[0] is state[0]
    assert tensors(state[0]) == [state[0]]


def test_tensors_by_name_and_back() -> None:
    state = nested()
    named = named_tensors(state, "carried")
    assert list(named) == ["carried.0", "carried.1.0", "carried.1.1"]
    assert named["carried.1.1"] is state[1][1]
    again = from_named(named, "carried")
    assert isinstance(again, tuple)
    assert isinstance(again[1], tuple)
    assert same(again, state)


def test_a_single_tensor_has_the_plain_name() -> None:
    tensor = torch.ones(2)
    assert named_tensors(tensor, "carried") == {"carried": tensor}
    assert from_named({"carried": tensor}, "carried") is tensor


def test_deep_and_wide_states_keep_their_order() -> None:
    state = tuple((torch.tensor([number]), (torch.tensor([-number]),)) for number in range(12))
    again = from_named(dict(reversed(named_tensors(state, "s").items())), "s")
    assert [len(part) for part in again] == [2] * 12
    assert same(again, state)


def test_other_names_are_not_a_state() -> None:
    assert from_named({}, "carried") is None
    assert from_named({"random/cpu": torch.ones(1), "carried2.0": torch.ones(1)}, "carried") is None
    assert same(from_named({"a.0": torch.ones(1), "b.0": torch.zeros(1)}, "a"), (torch.ones(1),))


def test_two_states_are_combined_tensor_by_tensor() -> None:
    doubled = combine(torch.add, nested(), nested())
    assert same(doubled, map_state(lambda tensor: 2 * tensor, nested()))
