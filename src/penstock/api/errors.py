"""The errors that plugins raise and the runtime understands, each with the name that traces show.

Status records, ``GET /connectors/{name}/status`` and dead letter headers name exceptions as Java Connect does, so every
class carries the Java class it stands for. Java: packages ``org.apache.kafka.connect.errors`` and
``org.apache.kafka.common.config``.
"""

from __future__ import annotations

import re
from typing import ClassVar

from penstock.java.text import java_class_name, java_text

_UNSET = object()
MAX_GROUP = 20
"""Errors of a group that a trace names."""
MAX_DETAILS = 100
"""Lines of ``details_of``."""
MAX_DETAIL = 10_000
"""Characters of a message in such a line."""
_MAX_DEPTH = 3
"""Groups in groups whose errors are named."""
_SQLSTATE = re.compile("[0-9A-Za-z]{5}")


class KafkaError(Exception):
    """Base of everything below; raise one of its subclasses."""

    java_name: ClassVar[str] = "org.apache.kafka.common.KafkaException"


class ConnectError(KafkaError):
    """A connector, task or plugin can't continue. The runtime ends it as FAILED with this error as its trace."""

    java_name = "org.apache.kafka.connect.errors.ConnectException"


class RetriableError(ConnectError):
    """The same call may succeed later: the runtime retries it after a pause."""

    java_name = "org.apache.kafka.connect.errors.RetriableException"


class NotReadyError(RetriableError):
    """The target of the records can't take more at the moment, which is no error.

    As RetriableError, but the runtime waits without a line in the log, and it does not become the task's last error.
    """


class DataError(ConnectError):
    """A value does not fit its schema, or can't be converted; ``errors.tolerance`` says what happens then."""

    java_name = "org.apache.kafka.connect.errors.DataException"


class SchemaBuilderError(DataError):
    """A schema that contradicts itself, such as a default of another type or a field named twice."""

    java_name = "org.apache.kafka.connect.errors.SchemaBuilderException"


class SchemaProjectorError(DataError):
    """A value can't be projected from one schema to another."""

    java_name = "org.apache.kafka.connect.errors.SchemaProjectorException"


class SerializationError(KafkaError):
    """Bytes that a converter can't read, or a value it can't write. Usually the cause of a DataError."""

    java_name = "org.apache.kafka.common.errors.SerializationException"


class NotFoundError(ConnectError):
    """The object that a request names does not exist."""

    java_name = "org.apache.kafka.connect.errors.NotFoundException"


class AlreadyExistsError(ConnectError):
    """The object that a request wants to create exists already."""

    java_name = "org.apache.kafka.connect.errors.AlreadyExistsException"


class IllegalWorkerStateError(ConnectError):
    """A method of a context was called at a time when it has no meaning."""

    java_name = "org.apache.kafka.connect.errors.IllegalWorkerStateException"


class ConfigError(KafkaError):
    """A setting that can't be used.

    ``ConfigError(sentence)``, or ``ConfigError(name, value, problem)`` for Java's own wording.
    """

    java_name = "org.apache.kafka.common.config.ConfigException"

    def __init__(self, name: str, value: object = _UNSET, message: str | None = None) -> None:
        """Make the message ``Invalid value <value> for configuration <name>: <message>``.

        Without a value ``name`` is the whole message.
        """
        if value is _UNSET:
            super().__init__(name)
        else:
            problem = "" if message is None else f": {message}"
            super().__init__(f"Invalid value {java_text(value)} for configuration {name}{problem}")


def cause_of(error: BaseException) -> BaseException | None:
    """Return the cause of an error: the first error of a group, the one after ``from``, or the one that was handled."""
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    return _own_cause(error)


def _own_cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def details_of(error: BaseException) -> list[str]:
    """Return lines on what neither the message of an error nor ``cause_of`` tells.

    They are the SQLSTATE of a database's error (``sqlstate`` of psycopg 3 and asyncpg, ``pgcode`` of psycopg2), and the
    own cause of a group and its other errors with their causes.
    """
    return _details(error, _MAX_DEPTH)[:MAX_DETAILS]


def _details(error: BaseException, depth: int) -> list[str]:
    lines = []
    try:
        states = [getattr(error, name, None) for name in ("sqlstate", "pgcode")]
    except Exception:  # a property of a plugin's class
        states = []
    if state := next((each for each in states if isinstance(each, str) and _SQLSTATE.fullmatch(each)), None):
        lines.append(f"SQLSTATE {state}")
    if isinstance(error, BaseExceptionGroup) and depth:
        if (own := _own_cause(error)) is not None:
            lines.append(f"the group was caused by {_said(own)}")
        for other in error.exceptions[1:MAX_GROUP]:
            lines.append(f"and {_said(other)}")
            lines += _details(other, depth - 1)
            if (cause := cause_of(other)) is not None and cause is not error:
                lines.append(f"caused by {_said(cause)}")
        if len(error.exceptions) > MAX_GROUP:
            lines.append(f"and {len(error.exceptions) - MAX_GROUP} more")
    return lines


def _said(error: BaseException) -> str:
    name, message = java_class_name(type(error)), message_of(error, MAX_DETAIL)
    return f"{name}: {message}" if message else name


def message_of(error: BaseException, max_length: int) -> str:
    """Return the message of an error, also of one whose class, a plugin's perhaps, fails to make it.

    The end of a message that is longer than ``max_length`` characters is left out.
    """
    try:
        message = str(error)
    except Exception as failure:
        return f"(no message: its __str__ has raised {type(failure).__name__})"
    if len(message) <= max_length:
        return message
    return f"{message[:max_length]}... ({len(message) - max_length} more characters)"
