"""`/v1/completions`: continue prompts, whole or as a stream, in the format of OpenAI.

Turns a `CompletionRequest` into rows, submits them to the batcher of the model, and turns the
events of the rows into JSON (`completion_shape.py`). Requests of clients that disconnect are
cancelled at once.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from elman.studio.batching import Batcher
from elman.studio.completion_request import CompletionRequest, check_prompt
from elman.studio.completion_shape import Choice, Envelope
from elman.studio.errors import Refused, as_refused, error_data
from elman.studio.limits import Limits, refuse_above
from elman.studio.rows import Drawn, Failed, Finished, Inbox, Row, Scored, Work, Written
from elman.studio.served import ServedModel
from elman.tasks.language_modelling.continuation import Continuation

_UNBUFFERED = {"X-Accel-Buffering": "no"}  # nginx hands on every event at once


async def complete(
    request: Request,
    asked: CompletionRequest,
    model: ServedModel,
    batcher: Batcher,
    limits: Limits,
) -> Response:
    """Respond to a completion request."""
    asked.check(limits)
    completion = Completion(asked, model, batcher, limits)
    completion.begin()
    if asked.stream:
        return StreamingResponse(
            completion.stream(), media_type="text/event-stream", headers=_UNBUFFERED
        )
    return JSONResponse(await unless_gone(request, completion.whole()))


class Completion:
    """A completion request in progress."""

    def __init__(
        self, asked: CompletionRequest, model: ServedModel, batcher: Batcher, limits: Limits
    ) -> None:
        self._asked = asked
        self._batcher = batcher
        self._inbox: Inbox = asyncio.Queue()
        self._options = asked.options(model.trained, limits)
        self._limits = limits
        self._works: list[Work] = []
        self._choices: list[Choice] = []
        self._envelope = Envelope(
            model.id, self._options.seed if asked.seed is None else asked.seed
        )
        self._began = time.monotonic()
        deadline = self._began + limits.deadline
        for prompt in asked.prompts():
            self._add(prompt, model, deadline)

    def _add(self, prompt: str | list[int], model: ServedModel, deadline: float) -> None:
        tokenizer = model.trained.tokenizer
        check_prompt(prompt, len(tokenizer), self._limits)
        continuation = Continuation(tokenizer, prompt, self._asked.stops())
        refuse_above("the prompt's number of tokens", len(continuation.prompt_ids),
                     self._limits.prompt_tokens)  # fmt: skip
        rows = []
        logprobs = self._asked.logprobs
        if logprobs is None and self._asked.drawn > self._asked.samples:
            logprobs = 0  # needed to choose the best
        for sample in range(self._asked.drawn):
            number = len(self._choices)
            generator = np.random.default_rng([self._options.seed, sample])
            rows.append(
                Row(
                    number,
                    self._options,
                    continuation,
                    generator,
                    logprobs,
                    self._inbox,
                    streamed=bool(self._asked.stream),
                )
            )
            self._choices.append(Choice(number, tokenizer, continuation, self._asked))
        scores = self._asked.logprobs if self._asked.echo else None
        self._works.append(Work(continuation.prompt_ids.tolist(), rows, deadline, scores))
        self._envelope.prompt_tokens += len(continuation.prompt_ids)

    def begin(self) -> None:
        """Submit the rows to the batcher, which may refuse them."""
        self._batcher.submit(self._works)

    async def whole(self) -> dict[str, Any]:
        try:
            async for _ in self._changes():
                pass
        finally:
            self._batcher.cancel(self._works)
        self._envelope.completion_tokens = sum(choice.drawn for choice in self._choices)
        return self._envelope.data(self._best(), usage=True)

    def _best(self) -> list[dict[str, Any]]:
        """The choices to return: all, or the most probable of each prompt, best first."""
        drawn, wanted = self._asked.drawn, self._asked.samples
        if drawn == wanted:
            return [choice.whole() for choice in self._choices]
        best: list[Choice] = []
        for first in range(0, len(self._choices), drawn):
            of_prompt = self._choices[first : first + drawn]
            best += sorted(of_prompt, key=lambda choice: -choice.mean_log_prob)[:wanted]
        return [{**choice.whole(), "index": index} for index, choice in enumerate(best)]

    async def stream(self) -> AsyncIterator[str]:
        """Server-sent events; `[DONE]` at the end.

        Pieces that are ready together are sent together. A write for each would leave the event
        loop no time to notice that the client is gone.
        """
        options, ready = self._asked.stream_options, ""
        try:
            async for choice in self._changes():
                piece = choice.take_piece()
                if piece is not None:
                    ready += _event(self._envelope.data([piece]))
                if ready and self._inbox.empty():
                    yield ready
                    ready = ""
            if options is not None and options.include_usage:
                self._envelope.completion_tokens = sum(choice.drawn for choice in self._choices)
                ready += _event(self._envelope.data([], usage=True))
            yield ready + "data: [DONE]\n\n"
        except Exception as error:
            yield ready + _event(error_data(as_refused(error)))
        finally:  # also when the client disconnects
            self._batcher.cancel(self._works)

    async def _changes(self) -> AsyncIterator[Choice]:
        """Yield each choice that received an event, until all have ended."""
        open_choices = len(self._choices)
        has_token = False
        for choice in self._choices:
            if self._asked.echo:
                choice.echo()
        while open_choices:
            number, event = await self._inbox.get()
            choice = self._choices[number]
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Scored):
                choice.score(event.tokens)
            elif isinstance(event, Drawn):
                if not has_token:
                    self._batcher.meter.first_token.observe(time.monotonic() - self._began)
                has_token = True
                choice.add(event)
            elif isinstance(event, Written):
                for drawn in event.tokens:
                    choice.add(drawn)
            elif isinstance(event, Finished):
                choice.end(event.reason)
                open_choices -= 1
            yield choice


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n"


async def unless_gone(request: Request, work: Any) -> Any:
    """Await a coroutine; cancel it if the client disconnects first."""
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watch.cancel()
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    if task.cancelled():
        raise Refused(400, "the client disconnected")  # nobody reads it
    return task.result()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
