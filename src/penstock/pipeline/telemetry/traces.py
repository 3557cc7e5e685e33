"""The trace of each batch of a task, as its loop and ``Metrics`` report it; see ``spans`` for what is recorded.

A task whose worker records no traces has ``NoTraces``, which costs a few calls per batch. Lines that are logged while
a batch is at work carry ``current_ids``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import groupby
from typing import Any

from penstock.api.batch import Batch

TRACES, HEADERS = "penstock.telemetry.traces", "penstock.telemetry.headers"
HEADER = "traceparent"
MAX_TRACES = 128
"""Traces of one batch that are continued; OpenTelemetry's limit for the links of a span."""
MAX_HEADER_LENGTH = 512
"""Letters of a header; W3C's has 55, and later versions may have some more."""

current_ids: ContextVar[Mapping[str, str]] = ContextVar("current_ids", default={})  # noqa: B039 - never changed
"""``trace_id``, ``span_id`` and ``trace_flags`` of the batch at work in this thread, as OpenTelemetry names them in
logs.
"""


class NoTraces:
    """Each method is called by the thread of the task's loop."""

    def begin(self, headers: Sequence[Any] = ()) -> None:
        """A batch begins now. ``headers``: those of each of its records, pairs of name and value, as they were read."""

    def polled(self, batch: Batch) -> None:
        """The batch that has begun has these records."""

    def read(self, parents: Sequence[str]) -> None:
        """The batch that has begun has records with these headers ``traceparent``, as it turns out in the end."""

    def idle(self) -> None:
        """There was nothing to poll: no batch has begun."""

    def stage(self, name: str, seconds: float) -> None:
        """A stage of the batch has ended, after so long."""

    def committed(self, seconds: float, success: bool) -> None:
        """A commit of offsets has ended, of this batch or of those before it."""

    def survived(self, error: BaseException) -> None:
        """An error that does not end the task."""

    def carried(self, batch: Batch) -> Batch:
        """The records as they are sent: with the header ``traceparent``, if that is switched on."""
        return batch

    def end(self, error: BaseException | None = None) -> None:
        """The batch is done, or has failed with this error."""

    def close(self) -> None:
        """Send what was not sent yet, within a short time; called last."""


NO_TRACES = NoTraces()


def traceparents(rows: Sequence[Any]) -> Iterator[str]:
    """The different headers ``traceparent`` among those of each record, in the order they appear. Longer ones than
    ``MAX_HEADER_LENGTH`` are none.

    Neighbours with the same headers, as the records of one batch have them, are read once.
    """
    found = set()
    for row, _ in groupby(rows) if any(rows) else ():
        for header in row or ():
            if header[0] == HEADER and (text := _text(header[-1])) not in found and len(text) <= MAX_HEADER_LENGTH:
                found.add(text)
                yield text


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def is_on(worker: Mapping[str, str], setting: str) -> bool:
    return worker.get(setting, "false").strip().lower() == "true"
