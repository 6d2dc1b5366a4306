"""Ask the batcher of the server for many short texts, alone and in crowds; count differences.

    python benchmarks/crowds.py [--requests 10000] [--units 101] [--threads 1]

Every request has its own seed, prompt, length and options. First each is the only one; then all
are asked again, in crowds of which up to 64 are served at a time. The model has two LSTM
layers and random weights, in single precision. A text must be the same in both cases, token by
token. Exit code 1 if one differs.
"""

import argparse
import asyncio
import random
import sys
import time

import generation  # benchmarks/generation.py
import numpy as np
import torch

from elman.decoding.options import DecodingOptions
from elman.studio.batching import Batcher
from elman.studio.limits import Limits
from elman.studio.rows import Drawn, Finished, Inbox, Row, Work, Written
from elman.tasks.language_modelling.continuation import Continuation
from elman.tasks.language_modelling.trained import TrainedModel

OPTIONS = (
    {"temperature": 0.8},
    {"temperature": 1.3},
    {"top_p": 0.9},
    {"top_k": 40},
    {},
    {"temperature": 0.9, "frequency_penalty": 0.3},
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--units", type=int, default=101)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    trained = generation.build(given.units).for_serving("crowds")
    kind = next(trained.model.parameters()).dtype
    print(f"2 x {given.units}, {kind}, {given.requests:,} requests, {given.threads} thread(s)")
    differing = asyncio.run(compare(trained, given.requests))
    print(f"texts that differ: {differing}")
    sys.exit(differing > 0)


async def compare(trained: TrainedModel, requests: int) -> int:
    """How many texts differ between both ways."""
    batcher = Batcher(trained.model, Limits(waiting=requests))
    try:
        started = time.process_time()
        alone = [await ask(trained, batcher, number) for number in range(requests)]
        between = time.process_time()
        order = list(range(requests))
        random.Random(0).shuffle(order)
        among: dict[int, list[int]] = {}
        while order:
            size = random.Random(len(order)).randint(1, 256)
            crowd, order = order[:size], order[size:]
            texts = await asyncio.gather(*(ask(trained, batcher, number) for number in crowd))
            among |= dict(zip(crowd, texts, strict=True))
        ended = time.process_time()
    finally:
        batcher.close()
    tokens = sum(map(len, alone))
    print(
        f"tokens per processor second: alone {tokens / (between - started):,.0f}, "
        f"in crowds {tokens / (ended - between):,.0f}; {len(set(map(tuple, alone))):,} texts"
    )
    return sum(among[number] != text for number, text in enumerate(alone))


async def ask(trained: TrainedModel, batcher: Batcher, number: int) -> list[int]:
    """The ids of one request."""
    inbox: Inbox = asyncio.Queue()
    prompt = [2 + (number * 7 + place) % 9000 for place in range(1 + number % 4)]
    options = DecodingOptions(
        seed=number, max_tokens=3 + number % 9, **OPTIONS[number % len(OPTIONS)]
    )
    continuation = Continuation(trained.tokenizer, prompt)
    generator = np.random.default_rng([number, 0])
    row = Row(0, options, continuation, generator, None, inbox, streamed=False)
    batcher.submit([Work(prompt, [row], time.monotonic() + 600)])
    ids: list[int] = []
    while True:
        _, event = await inbox.get()
        if isinstance(event, Drawn):
            ids.append(event.id)
        elif isinstance(event, Written):
            ids += [drawn.id for drawn in event.tokens]
        elif isinstance(event, Finished):
            return ids
        else:
            raise SystemExit(f"request {number}: {event}")


if __name__ == "__main__":
    main()
