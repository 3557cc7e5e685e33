"""Requests of a query to brokers that may be away: repeated for a while, and given up as soon as the task is aborted.

A query that waited for brokers in one long call could be ended only with the whole of its Spark application.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException

from penstock.api.errors import ConnectError, RetriableError
from penstock.pipeline.broker_errors import is_away

log = logging.getLogger(__name__)

T = TypeVar("T")
SECONDS = 30.0
"""How long to ask again while no broker answers."""
AT_ONCE_SECONDS = 1.0
"""How long a single call may wait."""
PAUSE_SECONDS = 0.5
_SOON = (
    BrokerError.UNSTABLE_OFFSET_COMMIT,
    BrokerError.COORDINATOR_LOAD_IN_PROGRESS,
    BrokerError.COORDINATOR_NOT_AVAILABLE,
    BrokerError.NOT_COORDINATOR,
    BrokerError.REQUEST_TIMED_OUT,
)
"""Codes of brokers that librdkafka's admin client returns without a hint that they are retriable."""


class AbortedError(RetriableError):
    """The task has been aborted while it waited for brokers."""


def failed(what: str, error: BrokerError) -> ConnectError:
    """The error to raise, from ``broker_error``: a RetriableError if the brokers may recover."""
    return (RetriableError if _may_recover(error) else ConnectError)(what)


def _may_recover(error: BrokerError) -> bool:
    return bool(error.retriable()) or error.code() in _SOON or is_away(error)


def asked(what: str, ask: Callable[[float], T], aborted: Callable[[], bool]) -> T:
    """The answer to ``ask``, which is given the seconds that it may wait, and is called again while brokers are away.

    ``what`` ends the sentence of a warning. Raises AbortedError, and the KafkaException of the last call.
    """
    until, warned = time.monotonic() + SECONDS, False
    while True:
        try:
            return ask(AT_ONCE_SECONDS)
        except KafkaException as e:
            error = e.args[0]
            if not _may_recover(error) or error.fatal() or time.monotonic() > until:
                raise
            if aborted():
                raise AbortedError(f"The task has been aborted before {what}") from None
            if not warned:
                warned = True
                log.warning("The brokers are asked again, before %s: %s", what, error.str())
            time.sleep(PAUSE_SECONDS)


def looked_up(what: str, ask: Callable[[], T], aborted: Callable[[], bool]) -> T:
    """The answer to ``ask``, which only reads: it may take long, and is left to itself when the task is aborted.

    Raises AbortedError, and what ``ask`` raises.
    """
    answer: Future[T] = Future()

    def find() -> None:
        try:
            answer.set_result(ask())
        except BaseException as e:
            answer.set_exception(e)

    threading.Thread(target=find, name="look-up", daemon=True).start()
    while True:
        try:
            return answer.result(PAUSE_SECONDS)
        except TimeoutError:
            if answer.done():  # just now, or it is an error of the look-up
                return answer.result()
            if aborted():
                raise AbortedError(f"The task has been aborted before {what}") from None
