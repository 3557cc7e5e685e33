"""Checks of a connector's target: what `penstock check` contacts, and what it has found. Provisional.

``Connector.check_target`` is a generator. It yields a ``CheckStep`` for what it has looked at itself, and for what the
runtime looks at an ``Address`` or a ``KafkaTarget``, for which it gets back whether it can be reached. A check changes
nothing and creates nothing.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from penstock.api.errors import ConnectError

Outcome = Literal["ok", "failed", "not checked"]


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step of a check, such as ``login``, at one part of the connector, such as ``database``."""

    part: str
    step: str
    outcome: Outcome
    message: str


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port whose name is to be resolved and which is to accept a connection."""

    part: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class KafkaTarget:
    """A Kafka cluster with the settings of a Java client: its addresses, its brokers, a login, topics and rights."""

    part: str
    settings: Mapping[str, str] = field(repr=False)
    reads: tuple[str, ...] = ()
    """Topics that must exist and be readable."""
    writes: tuple[str, ...] = ()
    """Topics that must be writable, if they exist."""
    pattern: str | None = None
    """Java's regular expression, one topic of which must exist."""
    group: str | None = None
    """Consumer group in which offsets are committed."""


TargetCheck = Generator[CheckStep | Address | KafkaTarget, bool, None]

MAX_NAMED = 5


def listed(names: Sequence[str]) -> str:
    """Return the first few names for the message of a step, and the number of the others."""
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def readable_file(part: str, path: str, missing: Outcome = "failed") -> CheckStep:
    """Return whether a file can be read; ``missing``: the outcome for one that does not exist."""
    if not _exists(path):
        return CheckStep(part, "file", missing, f"{path} does not exist on this worker")
    if os.path.isdir(path):
        return CheckStep(part, "file", "failed", f"{path} is a folder")
    if not os.access(path, os.R_OK):
        return CheckStep(part, "file", "failed", f"{path} may not be read by the user of the worker")
    return CheckStep(part, "file", "ok", f"{path} can be read")


def writable_file(part: str, path: str) -> CheckStep:
    """Return whether a file can be appended to, or created in its folder."""
    if _exists(path):
        if os.path.isdir(path):
            return CheckStep(part, "file", "failed", f"{path} is a folder")
        if not os.access(path, os.W_OK):
            return CheckStep(part, "file", "failed", f"{path} may not be written by the user of the worker")
        return CheckStep(part, "file", "ok", f"{path} can be written")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return CheckStep(part, "file", "failed", f"The folder {folder} does not exist on this worker")
    if not os.access(folder, os.W_OK | os.X_OK):
        return CheckStep(part, "file", "failed", f"The user of the worker may create no file in {folder}")
    return CheckStep(part, "file", "ok", f"{path} does not exist yet and can be created")


def program(part: str, path: str) -> CheckStep:
    """Return whether a program can be run; it is not."""
    if os.path.isfile(path) and os.access(path, os.X_OK):
        return CheckStep(part, "program", "ok", f"{path} can be run")
    return CheckStep(part, "program", "failed", f"{path} does not exist on this worker, or its user may not run it")


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError as error:
        raise ConnectError(f"{path!r} is no path: {error}") from error
