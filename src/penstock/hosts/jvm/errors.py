"""Exceptions of Java plugins as Python's: of the nearest class that the pipeline knows, under Java's class name.

Each carries Java's own trace, which the status of a task shows.
"""

from __future__ import annotations

import functools
from typing import Any

from penstock.api import errors

KNOWN: dict[str, type[errors.KafkaError]] = {
    each.java_name: each
    for each in (
        errors.KafkaError,
        errors.ConnectError,
        errors.RetriableError,
        errors.DataError,
        errors.SchemaBuilderError,
        errors.SchemaProjectorError,
        errors.SerializationError,
        errors.NotFoundError,
        errors.AlreadyExistsError,
        errors.IllegalWorkerStateError,
        errors.ConfigError,
    )
}
"""By Java's names; what is none of them is a KafkaError here."""


class HostLost(BaseException):
    """The host's process is gone, or does not answer: the task is lost, and starts again.

    Not an Exception, so that no tolerance of errors takes it for that of a record.
    """

    def __init__(self, reason: str, by_itself: bool = False) -> None:
        """``by_itself``: nobody killed it; it crashed, exited, or ran out of memory."""
        super().__init__(reason)
        self.by_itself = by_itself


def java_error(document: dict[str, Any]) -> errors.KafkaError:
    """The error, with its causes, that the host has described."""
    error = _error(document)
    error.java_trace = document["trace"]  # type: ignore[attr-defined]
    last: BaseException = error
    for each in document["causes"]:
        last.__cause__ = cause = _error(each)
        last = cause
    return error


def _error(document: dict[str, Any]) -> errors.KafkaError:
    made = _class(tuple(document["classes"]))
    message = document["message"]
    return made(message) if message else made.__new__(made)


@functools.lru_cache(1024)
def _class(java_classes: tuple[str, ...]) -> type[errors.KafkaError]:
    name = java_classes[0]
    base = next((KNOWN[each] for each in java_classes if each in KNOWN), errors.KafkaError)
    if base.java_name == name:
        return base
    return type(name.rpartition(".")[2].rpartition("$")[2], (base,), {"java_name": name})
