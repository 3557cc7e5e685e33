"""Exceptions of Java plugins as Python's: of the nearest class that the pipeline knows, under Java's class name.

Each carries Java's own trace, which the status of a task shows, and the names of its classes there.
"""

from __future__ import annotations

import functools
from typing import Any

from penstock.api import errors
from penstock.hosts.errors import FatalJavaError


class BadRequestError(errors.ConnectError):
    """A plugin that breaks the API so that Java answers a request that needs it with 400."""

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
"""By Java's names; what is none of them is a KafkaError here."""


def java_error(document: dict[str, Any]) -> errors.KafkaError:
    """The error, with its causes, that the host has described."""
    error = _error(document)
    error.java_trace = document["trace"]  # type: ignore[attr-defined]
    error.java_classes = document["classes"]  # type: ignore[attr-defined]
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
