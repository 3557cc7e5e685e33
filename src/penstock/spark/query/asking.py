"""Requests of a query to brokers that may be away: repeated for a while, and given up as soon as the task is aborted.

A query that waited for brokers as long as its clients do could be ended only with the whole of its Spark application.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import KafkaError as BrokerError

from penstock.api.errors import ConnectError, RetriableError
from penstock.kafka.admin import may_pass
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.task import TaskFencedError

log = logging.getLogger(__name__)

T = TypeVar("T")
SECONDS = 30.0
"""Seconds to retry while no broker answers."""
PAUSE_SECONDS = 0.5


class AbortedError(RetriableError):
    """The task has been aborted while it waited for brokers."""


class HangingError(TaskFencedError):
    """A client does not return from a request. This run of the task is lost; the next has clients of its own."""


def check_brokers(consumers: Sequence[tuple[Consumer, ClientStatistics]]) -> None:
    """Take the reports of consumers that are never subscribed. Called often, since reports wait in memory.

    Raises TaskFencedError if one has lost all its brokers: the next run of the task has clients of its own.
    """
    for consumer, statistics in consumers:
        consumer.poll(0)
        if statistics.lost:
            raise TaskFencedError("A consumer of the query has lost all its brokers")


def failed(what: str, error: BrokerError) -> ConnectError:
    """Return the error to raise from ``broker_error``: a RetriableError if the brokers may recover."""
    return (RetriableError if may_pass(error) else ConnectError)(what)


def asked(what: str, ask: Callable[[], T], aborted: Callable[[], bool], longest: float = math.inf) -> T:
    """Return the answer to ``ask``, which is repeated for SECONDS after errors that may pass, except those after which
    a transaction has to be aborted. ``what`` ends a sentence.

    ``longest``: seconds after which a call of ``ask`` that has not come back is given up.

    It runs in a thread that is left to itself when the task is aborted: it must do no harm if it ends later. A commit
    does none in a transaction, since the next run has fenced it by then.
    Raises AbortedError, HangingError, and what ``ask`` raises.
    """
    answer: Future[T] = Future()
    began = time.monotonic()

    def once() -> T:
        nonlocal began
        began = time.monotonic()
        return ask()

    def find() -> None:
        try:
            answer.set_result(_tried(what, once, aborted))
        except BaseException as e:
            answer.set_exception(e)

    threading.Thread(target=find, name="asking", daemon=True).start()
    while True:
        try:
            return answer.result(PAUSE_SECONDS)
        except TimeoutError:
            if answer.done():  # just now, or it is an error of the answer
                return answer.result()
            if aborted():
                raise _aborted(what) from None
            if time.monotonic() > began + longest:
                raise HangingError(f"A client of the brokers does not come back: it was asked before {what}") from None


def _aborted(what: str) -> AbortedError:
    return AbortedError(f"The task has been aborted before {what}")


def _tried(what: str, ask: Callable[[], T], aborted: Callable[[], bool]) -> T:
    until = time.monotonic() + SECONDS
    while True:
        try:
            return ask()
        except KafkaException as e:
            error = e.args[0]
            if aborted():
                raise _aborted(what) from None
            if error.txn_requires_abort() or not may_pass(error) or time.monotonic() > until:
                raise
            log.warning("The brokers are asked again, before %s: %s", what, error.str())
            time.sleep(PAUSE_SECONDS)
