"""What a sink's task has reported (KIP-610) before its offsets are committed: the commit loses nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.sink.context import SinkContext


def settling(context: SinkContext, queue: DeadLetterQueue | None, seconds: float) -> Callable[[], None]:
    """A function that the loop calls before ``pre_commit`` and after it, in which a task may report, too: it waits for
    dead letters. It raises ConnectError if one did not arrive in so many seconds, or if a report since now was not
    tolerated.
    """
    failed = context.failed_report

    def settle() -> None:
        if queue is not None:
            queue.flush(seconds)
        if not failed:
            context.check_reported()

    return settle
