"""Continuous batching: rows are independent, and cancelled requests leave the batch."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

from elman.decoding.options import DecodingOptions
from elman.errors import ElmanError
from elman.studio.batching import Batcher
from elman.studio.errors import Busy, DeadlinePassed
from elman.studio.limits import Limits
from elman.studio.rows import Drawn, Failed, Finished, Inbox, Row, Work
from elman.studio.served import Served
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.trained import TrainedModel


@pytest.fixture
def trained(served: Served) -> TrainedModel:
    return served.find("network").trained


def work_of(
    trained: TrainedModel,
    inbox: Inbox,
    *,
    prompt: str = "the cat",
    seconds: float = 60,
    samples: int = 1,
    **options: Any,
) -> Work:
    continuation = Continuation(trained.tokenizer, prompt)
    asked = DecodingOptions(**options)
    rows = [
        Row(n, asked, continuation, np.random.default_rng([asked.seed, n]), None, inbox)
        for n in range(samples)
    ]
    return Work(continuation.prompt_ids.tolist(), rows, time.monotonic() + seconds)


async def ids_of(inbox: Inbox) -> list[int]:
    """All that one row writes."""
    ids: list[int] = []
    while True:
        _, event = await asyncio.wait_for(inbox.get(), 20)
        if isinstance(event, Drawn):
            ids.append(event.id)
        elif isinstance(event, Finished):
            return ids
        elif isinstance(event, Failed):
            raise event.error


def run(batcher: Batcher, coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        return asyncio.run(coroutine)
    finally:
        batcher.close()


@pytest.mark.parametrize("name", ["network", "words", "letters"])
def test_a_row_says_the_same_whatever_is_served_beside_it(served: Served, name: str) -> None:
    trained = served.find(name).trained
    batcher = Batcher(trained.model, Limits())
    prompts = ["the cat", "", "a dog sees\nthe bird", "the bird likes a cat . " * 40]

    async def one(number: int, delay: float = 0.0) -> list[int]:
        await asyncio.sleep(delay)
        inbox: Inbox = asyncio.Queue()
        asked = {"seed": number, "max_tokens": 5 + 7 * (number % 5), "temperature": 1 + number % 3}
        asked |= {"frequency_penalty": 0.5 * (number % 2)}
        batcher.submit([work_of(trained, inbox, prompt=prompts[number % 4], **asked)])
        return await ids_of(inbox)

    async def both() -> None:
        alone = [await one(number) for number in range(24)]
        together = await asyncio.gather(*(one(n, delay=0.004 * (n % 7)) for n in range(24)))
        assert together == alone
        assert len({tuple(ids) for ids in alone}) > 15

    run(batcher, both())


def test_no_more_rows_than_allowed_are_written_side_by_side(
    trained: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher(trained.model, Limits(rows=3, samples=3))
    widths = []
    scores = trained.model.scores

    def watched(state: Any) -> Any:
        found = scores(state)
        widths.append(len(found))
        return found

    monkeypatch.setattr(trained.model, "scores", watched, raising=True)

    async def many() -> None:
        inboxes: list[Inbox] = [asyncio.Queue() for _ in range(9)]
        batcher.submit([work_of(trained, inbox, max_tokens=6) for inbox in inboxes])
        for inbox in inboxes:
            assert len(await ids_of(inbox)) == 6

    run(batcher, many())
    assert max(widths) == 3


def test_too_many_that_wait_are_refused_and_the_others_answered(trained: TrainedModel) -> None:
    batcher = Batcher(trained.model, Limits(rows=2, samples=2, waiting=4, retry_after=7))

    async def many() -> tuple[int, list[Busy]]:
        inboxes: list[Inbox] = []
        refused = []
        for _ in range(30):
            inbox: Inbox = asyncio.Queue()
            try:
                batcher.submit([work_of(trained, inbox, max_tokens=40)])
                inboxes.append(inbox)
            except Busy as busy:
                refused.append(busy)
        for inbox in inboxes:
            assert len(await ids_of(inbox)) == 40
        return len(inboxes), refused

    answered, refused = run(batcher, many())
    assert answered >= 4
    assert len(refused) == 30 - answered > 0
    assert refused[0].status == 429
    assert refused[0].headers == {"Retry-After": "7"}


def test_a_row_that_nobody_waits_for_goes_and_the_others_do_not_notice(
    trained: TrainedModel,
) -> None:
    batcher = Batcher(trained.model, Limits())

    async def leaving() -> None:
        alone: Inbox = asyncio.Queue()
        batcher.submit([work_of(trained, alone, seed=1, max_tokens=60)])
        said = await ids_of(alone)
        left, kept = asyncio.Queue[Any](), asyncio.Queue[Any]()
        gone = work_of(trained, left, seed=2, max_tokens=10**6)
        batcher.submit([gone])
        await left.get()
        batcher.submit([work_of(trained, kept, seed=1, max_tokens=60)])
        await kept.get()
        assert batcher.counts() == {"writing": 2, "waiting": 0}
        batcher.cancel([gone])
        assert [*said[:1], *await ids_of(kept)] == said
        assert batcher.counts() == {"writing": 0, "waiting": 0}
        while not left.empty():
            left.get_nowait()
        await asyncio.sleep(0.05)
        assert left.empty()

    run(batcher, leaving())


def test_one_that_waits_can_go_too(trained: TrainedModel) -> None:
    batcher = Batcher(trained.model, Limits(rows=1, samples=1))

    async def leaving() -> None:
        first, second = asyncio.Queue[Any](), asyncio.Queue[Any]()
        batcher.submit([work_of(trained, first, max_tokens=200)])
        await first.get()
        waiting = work_of(trained, second)
        batcher.submit([waiting])
        assert batcher.counts()["waiting"] == 1
        batcher.cancel([waiting])
        assert batcher.counts()["waiting"] == 0
        await ids_of(first)
        assert second.empty()

    run(batcher, leaving())


def test_a_deadline_ends_a_row_that_is_written_and_one_that_waits(trained: TrainedModel) -> None:
    batcher = Batcher(trained.model, Limits(rows=1, samples=1))

    async def late() -> None:
        first, second = asyncio.Queue[Any](), asyncio.Queue[Any]()
        batcher.submit([work_of(trained, first, max_tokens=10**6, seconds=0.2)])
        batcher.submit([work_of(trained, second, max_tokens=10**6, seconds=0.1)])
        for inbox in (first, second):
            with pytest.raises(DeadlinePassed):
                await ids_of(inbox)
        assert batcher.counts() == {"writing": 0, "waiting": 0}

    run(batcher, late())


def test_a_row_that_cannot_go_on_fails_alone(trained: TrainedModel) -> None:
    batcher = Batcher(trained.model, Limits())
    every = tuple(range(len(trained.tokenizer)))

    async def stuck() -> None:
        good, bad = asyncio.Queue[Any](), asyncio.Queue[Any]()
        works = [
            work_of(trained, good, max_tokens=30),
            work_of(trained, bad, max_tokens=30, banned=every),
        ]
        batcher.submit(works)
        with pytest.raises(ElmanError, match="no token is possible here"):
            await ids_of(bad)
        assert len(await ids_of(good)) == 30

    run(batcher, stuck())


def test_after_a_mistake_of_ours_the_next_ones_are_served(
    trained: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher(trained.model, Limits())

    async def broken() -> None:
        inbox: Inbox = asyncio.Queue()
        with monkeypatch.context() as patch:
            patch.setattr(trained.model, "scores", lambda state: 1 / 0)
            batcher.submit([work_of(trained, inbox)])
            with pytest.raises(ZeroDivisionError):
                await ids_of(inbox)
        batcher.submit([work_of(trained, inbox, max_tokens=3)])
        assert len(await ids_of(inbox)) == 3

    run(batcher, broken())
