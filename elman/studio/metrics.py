"""`/metrics`: counters and gauges of the server, in the text format of Prometheus.

The guard counts requests, each batcher counts its tokens and steps; `Metrics.text` collects them
for each request. Every number has one writer (the event loop or the thread of a model), so no lock
is needed.
"""

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_ROWS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class Histogram:
    """How many values are at most each bound, with their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Cumulative counts, as Prometheus expects them."""
        total = 0
        for bound, count in zip([*self._bounds, None], list(self._counts), strict=True):
            total += count
            edge = "+Inf" if bound is None else f"{bound:g}"
            yield _line(f"{name}_bucket", total, {**labels, "le": edge})
        yield _line(f"{name}_sum", self._sum, labels)
        yield _line(f"{name}_count", total, labels)


@dataclass
class ModelMeter:
    """The counts of one model."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    batch_size: Histogram = field(default_factory=lambda: Histogram(_ROWS))
    first_token: Histogram = field(default_factory=lambda: Histogram(_SECONDS))


@dataclass
class Metrics:
    """All counts of a server; `models` has a meter for each model that generates text."""

    models: dict[str, ModelMeter] = field(default_factory=dict)
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seconds: Histogram = field(default_factory=lambda: Histogram(_SECONDS))

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests[method, route, str(status)] += 1
        self.seconds.observe(seconds)

    def text(self, rows: Mapping[str, Mapping[str, int]], jobs: int, open_requests: int) -> str:
        """All metrics; `rows` counts the running and waiting continuations of each model."""
        return "\n".join([*self._request_lines(open_requests), *self._model_lines(rows),
                          *_process_lines(jobs), ""])  # fmt: skip

    def _request_lines(self, open_requests: int) -> Iterator[str]:
        yield from _head("elman_requests_total", "counter", "Requests by route and status.")
        for (method, route, status), count in sorted(self.requests.items()):
            labels = {"method": method, "route": route, "status": status}
            yield _line("elman_requests_total", count, labels)
        yield from _head("elman_request_seconds", "histogram", "Time until a response was sent.")
        yield from self.seconds.lines("elman_request_seconds", {})
        yield from _head("elman_requests_open", "gauge", "Requests being answered now.")
        yield _line("elman_requests_open", open_requests)

    def _model_lines(self, rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
        yield from _head("elman_tokens_total", "counter", "Tokens read in prompts and generated.")
        for model, meter in self.models.items():
            for kind in ("prompt", "generated"):
                count = getattr(meter, f"{kind}_tokens")
                yield _line("elman_tokens_total", count, {"model": model, "kind": kind})
        for state, about in _ROW_STATES.items():
            yield from _head(f"elman_rows_{state}", "gauge", about)
            for model, counts in rows.items():
                yield _line(f"elman_rows_{state}", counts[state], {"model": model})
        for name, about in _MODEL_HISTOGRAMS.items():
            yield from _head(f"elman_{name}", "histogram", about)
            for model, meter in self.models.items():
                found = meter.batch_size if name == "batch_size" else meter.first_token
                yield from found.lines(f"elman_{name}", {"model": model})


_ROW_STATES = {
    "writing": "Continuations being generated now.",
    "waiting": "Continuations in the queue.",
}
_MODEL_HISTOGRAMS = {
    "batch_size": "Continuations generated together, for every step.",
    "first_token_seconds": "Time from a completion request to its first token.",
}


def _process_lines(jobs: int) -> Iterator[str]:
    yield from _head("elman_jobs", "gauge", "Other tasks that run or wait.")
    yield _line("elman_jobs", jobs)
    resident = resident_bytes()
    if resident is not None:
        yield from _head("process_resident_memory_bytes", "gauge", "Resident memory in bytes.")
        yield _line("process_resident_memory_bytes", resident)


def resident_bytes() -> int | None:
    """The memory that this process holds; None on systems without /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def _line(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    written = ",".join(f'{key}="{_escape(text)}"' for key, text in (labels or {}).items())
    return f"{name}{{{written}}} {value:.17g}" if written else f"{name} {value:.17g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
