"""Exceptions of Java plugins as Python exceptions of the nearest class the pipeline knows, under Java's class name.

Each carries Java's stack trace, which the status of a task shows, and the names of its Java classes.
"""

from __future__ import annotations

import functools

from penstock.api import errors
from penstock.hosts.errors import FatalJavaError
from penstock.hosts.jvm.messages.base import JavaCause, JavaFailure


class BadRequestError(errors.ConnectError):
    """A violation of the API by a plugin, for which Java Connect answers a REST request with status 400."""

    java_name = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"


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
        BadRequestError,
        FatalJavaError,
    )
}
"""Python classes by Java class name; every other exception is a KafkaError."""


def java_error(failure: JavaFailure) -> errors.KafkaError:
    """Return the Python exception of a Java exception, with its causes."""
    error = _error(failure)
    error.java_trace = failure.trace  # type: ignore[attr-defined]
    error.java_classes = failure.classes  # type: ignore[attr-defined]
    last: BaseException = error
    for each in failure.causes:
        last.__cause__ = cause = _error(each)
        last = cause
    return error


def _error(exception: JavaFailure | JavaCause) -> errors.KafkaError:
    made = _class(tuple(exception.classes))
    return made(exception.message) if exception.message else made.__new__(made)


@functools.lru_cache(1024)
def _class(java_classes: tuple[str, ...]) -> type[errors.KafkaError]:
    name = java_classes[0]
    base = next((KNOWN[each] for each in java_classes if each in KNOWN), errors.KafkaError)
    if base.java_name == name:
        return base
    return type(name.rpartition(".")[2].rpartition("$")[2], (base,), {"java_name": name})
