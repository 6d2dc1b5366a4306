"""Continuous batching: generate all continuations of a model together, step by step.

Each model has one thread. In every step it reads some waiting prompts one by one, adds the rows
that are ready to the batch, predicts for all rows at once, samples one token per row, and removes
rows that have ended or were cancelled:

    read prompts → join → predict (B, V) → sample → select the open rows → read (B, 1) → …

Every row has its own random generator, so its text does not depend on the other rows.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import torch

from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import Chooser
from elman.errors import ElmanError
from elman.models.contract import LanguageModel
from elman.state import State, join, select
from elman.studio.errors import Busy, DeadlinePassed, ServerStopping
from elman.studio.limits import Limits
from elman.studio.metrics import ModelMeter
from elman.studio.rows import (
    Drawn,
    Event,
    Failed,
    Finished,
    Inbox,
    PromptReading,
    Row,
    Scored,
    Work,
    Written,
    told_of,
)

_PROMPT_TOKENS = 512  # read per step, so that rows being generated do not wait long
_IDLE = 3600.0  # seconds to sleep without work


class Batcher:
    """The rows of one model, and the thread that generates them."""

    def __init__(self, model: LanguageModel, limits: Limits, name: str = "model") -> None:
        self._model = model
        self._limits = limits
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._reading: PromptReading | None = None
        self._live: list[tuple[Row, Work]] = []
        self._state: State | None = None  # of the live rows, in their order
        self._groups: list[tuple[Chooser, list[int]]] | None = None  # places in `_live`
        self._told: list[tuple[Inbox, int, Event]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._cut = False
        self.meter = ModelMeter()
        self._thread = threading.Thread(target=self._run, name=f"rows of {name}", daemon=True)

    # From the event loop --------------------------------------------------------------------------

    def submit(self, works: list[Work]) -> None:
        """Queue all work of a request, or refuse all of it if the queue is full."""
        self._loop = asyncio.get_running_loop()
        with self._changed:
            if self._cut:
                raise ServerStopping
            waiting = sum(len(work.rows) for work in self._waiting)
            if waiting + sum(len(work.rows) for work in works) > self._limits.waiting:
                raise Busy(self._limits.retry_after)
            self._waiting.extend(works)
            if not self._thread.is_alive():
                self._thread.start()
            self._changed.notify()

    @property
    def is_full(self) -> bool:
        """Whether the queue has no place for another row."""
        return self.counts()["waiting"] >= self._limits.waiting

    def cancel(self, works: list[Work]) -> None:
        """Cancel work whose client is gone."""
        with self._changed:
            for work in works:
                work.cancelled = True
            self._waiting = deque(work for work in self._waiting if not work.cancelled)

    def counts(self) -> dict[str, int]:
        """How many rows are being generated, and how many wait."""
        with self._changed:
            waiting = sum(len(work.rows) for work in self._waiting)
            return {"writing": len(self._live), "waiting": waiting}

    def cut(self) -> None:
        """Stop: every row, running or waiting, ends with `ServerStopping`."""
        with self._changed:
            self._cut = True
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    # In the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        with torch.inference_mode():
            while self._wait_for_work():
                try:
                    self._end_if_cut()
                    self._drop_rows()
                    self._read_prompts()
                    self._step()
                except Exception as error:  # report it to all current rows and serve the next
                    self._fail_all(error)
                self._deliver()

    def _wait_for_work(self) -> bool:
        with self._changed:
            while not (self._closed or self._live or self._waiting or self._reading):
                self._changed.wait(_IDLE)
            return not self._closed

    def _end_if_cut(self) -> None:
        if not self._cut:
            return
        with self._changed:
            waiting, self._waiting = self._waiting, deque()
        for work in waiting:
            self._end_work(work, Failed(ServerStopping()))
        self._fail_all(ServerStopping())

    def _drop_rows(self) -> None:
        """Remove rows that were cancelled or whose deadline has passed."""
        now = time.monotonic()
        for row, work in self._live:
            if work.deadline < now and not work.cancelled:
                self._tell(row, Failed(DeadlinePassed(self._limits.deadline)))
        self._keep([not work.cancelled and work.deadline >= now for _, work in self._live])

    def _keep(self, kept: list[bool]) -> None:
        if all(kept):
            return
        places = [place for place, keep in enumerate(kept) if keep]
        self._live = [self._live[place] for place in places]
        self._groups = None
        assert self._state is not None
        self._state = select(self._state, torch.tensor(places)) if places else None

    def _read_prompts(self) -> None:
        """Read some more of the waiting prompts; rows whose prompt is read join the batch."""
        budget = _PROMPT_TOKENS
        states = [] if self._state is None else [self._state]
        while budget > 0 and (reading := self._next_reading()) is not None:
            try:
                tokens = reading.read(self._model)
                self.meter.prompt_tokens += tokens
                budget -= max(tokens, 1)
            except ElmanError as error:
                self._end_work(reading.work, Failed(error))
                self._reading = None
                continue
            if reading.is_done:
                self._reading = None
                if (state := self._join(reading)) is not None:
                    states.append(state)
        if len(states) > 1 or self._state is None:
            self._state = join(states) if states else None

    def _next_reading(self) -> PromptReading | None:
        """The prompt being read, or the next one if there is room for its rows."""
        now = time.monotonic()
        if self._reading is not None and self._is_wanted(self._reading.work, now):
            return self._reading
        self._reading = None
        with self._changed:
            while self._waiting:
                room = self._limits.rows - len(self._live)
                if len(self._waiting[0].rows) > room:
                    return None
                work = self._waiting.popleft()
                if self._is_wanted(work, now):
                    self._reading = PromptReading(work)
                    return self._reading
        return None

    def _is_wanted(self, work: Work, now: float) -> bool:
        if work.deadline < now and not work.cancelled:
            self._end_work(work, Failed(DeadlinePassed(self._limits.deadline)))
        return not work.cancelled and work.deadline >= now

    def _join(self, reading: PromptReading) -> State | None:
        """Start the rows of a prompt from its state, unless they should generate nothing."""
        work = reading.work
        if work.scores is not None:
            for row in work.rows:
                self._tell(row, Scored(tuple(reading.scored)))
        if work.rows[0].options.max_tokens == 0:
            self._end_work(work, Finished("length"))
            return None
        self._live += [(row, work) for row in work.rows]
        self._groups = None
        assert reading.state is not None
        return select(reading.state, torch.zeros(len(work.rows), dtype=torch.int64))

    def _step(self) -> None:
        """Generate one token for every row."""
        if not self._live:
            return
        assert self._state is not None
        self.meter.batch_size.observe(len(self._live))
        self.meter.generated_tokens += len(self._live)
        scores = self._model.scores(self._state).cpu()  # (B, V)
        chosen = self._choose(scores)
        going = []
        for place, (row, _) in enumerate(self._live):
            token = chosen[place]
            if isinstance(token, Exception):
                self._tell(row, Failed(token))
                going.append(False)
                continue
            self._tell_token(row, token, scores[place] if row.likeliest is not None else None)
            reason = row.add(token)
            if reason is not None:
                if row.unsent:
                    self._tell(row, Written(tuple(row.unsent)))
                self._tell(row, Finished(reason))
            going.append(reason is None)
        self._keep(going)
        if self._live:
            last = torch.tensor([[row.written[-1]] for row, _ in self._live])
            self._state = self._model.read(last, self._state)

    def _tell_token(self, row: Row, token: int, scores: torch.Tensor | None) -> None:
        """Send a token, with its log probability from the scores (V,) if they are given."""
        drawn = Drawn(token)
        if scores is not None:
            drawn = told_of(token, scores.double().log_softmax(0), row.likeliest)
        if row.streamed or not row.written:
            self._tell(row, drawn)
        else:
            row.unsent.append(drawn)

    def _choose(self, scores: torch.Tensor) -> list[int | Exception]:
        """The next token or the error of each row; rows with the same options go together."""
        uniforms = [row.generator.random() for row, _ in self._live]
        chosen: list[int | Exception] = [0] * len(self._live)
        for chooser, places in self._alike():
            for some, found in self._draw(scores, chooser, places, uniforms):
                chosen[some] = found
        return chosen

    def _draw(
        self,
        scores: torch.Tensor,
        chooser: Chooser,
        places: list[int],
        uniforms: list[float],
    ) -> Iterable[tuple[int, int | Exception]]:
        """The places of rows with these options, each with its token or its error."""
        written = [self._live[place][0].written for place in places]
        own = scores if len(places) == len(scores) else scores[places]
        try:
            return zip(
                places,
                chooser.choose(own, written, [uniforms[place] for place in places]),
                strict=True,
            )
        except ElmanError as error:
            if len(places) == 1:
                return [(places[0], error)]
        # One of the rows caused it: try each alone.
        return [pair for place in places for pair in self._draw(scores, chooser, [place], uniforms)]

    def _alike(self) -> list[tuple[Chooser, list[int]]]:
        """Group rows with the same distribution options; the same until the rows change."""
        if self._groups is None:
            groups: dict[DecodingOptions, list[int]] = {}
            for place, (row, _) in enumerate(self._live):
                groups.setdefault(_shaping(row.options), []).append(place)
            self._groups = [(Chooser(options), places) for options, places in groups.items()]
        return self._groups

    def _fail_all(self, error: Exception) -> None:
        for row, _ in self._live:
            self._tell(row, Failed(error))
        if self._reading is not None:
            self._end_work(self._reading.work, Failed(error))
        self._live, self._state, self._reading, self._groups = [], None, None, None

    def _end_work(self, work: Work, event: Event) -> None:
        for row in work.rows:
            self._tell(row, event)

    def _tell(self, row: Row, event: Event) -> None:
        self._told.append((row.inbox, row.choice, event))

    def _deliver(self) -> None:
        """Send the events of this step to the event loop, all at once."""
        told, self._told = self._told, []
        if told and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_put, told)


def _shaping(options: DecodingOptions) -> DecodingOptions:
    """Reset the options that do not change a distribution."""
    return replace(options, seed=0, samples=1, max_tokens=1, stop_ids=())


def _put(told: list[tuple[Inbox, int, Event]]) -> None:
    for inbox, choice, event in told:
        inbox.put_nowait((choice, event))
