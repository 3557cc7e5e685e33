"""Bases of the messages between Penstock and a JVM that hosts Java plugins, and what several of them hold."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

from penstock.wire.messages import Message

R = TypeVar("R")

Part = Literal["key", "value", "headers"]
PartitionName = tuple[str, int]
"""Topic and partition."""
OffsetRow = tuple[str, int, int]
"""Topic, partition and offset."""
CommittedRow = tuple[str, int, int | None, str, int | None]
"""Topic, partition, offset (None without one), metadata and leader epoch."""


class JavaRequest(Message, Generic[R], frozen=True):
    """Base of requests with a reply; ``R`` is the reply's type."""


class SinkRequest(JavaRequest[R], Generic[R], frozen=True):
    """Base of requests that the process of a sink task answers."""


class JavaNotice(Message, frozen=True):
    """Base of messages without a reply."""


class JavaValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Base of what messages hold."""


# -- values inside of messages


class JavaCause(JavaValue, frozen=True):
    """An exception that caused another one: its class with its superclasses, and its message."""

    classes: list[str]
    message: str | None


class JavaFailure(JavaValue, frozen=True):
    """An exception of a plugin: its class with its superclasses, message, causes from the nearest on, and trace."""

    classes: list[str]
    message: str | None
    causes: list[JavaCause]
    trace: str


class PluginReference(JavaValue, frozen=True):
    """A plugin class and the location it is loaded from; None for the newest."""

    java_class: str = msgspec.field(name="class")
    location: str | None = None
