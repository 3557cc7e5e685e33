"""Origins: the things that source offsets are positions in, and the policy for an origin that has changed.

A connector stores the identity of its origin with its offsets, such as the system identifier of a database server, and
compares it before it uses an offset. Provisional: for connectors that are shipped with the runtime.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConnectError
from penstock.api.validators import ValidString

ON_ORIGIN_CHANGED = "on.origin.changed"
_KIND = "penstock.origin"


class OriginPolicy(enum.StrEnum):
    """A value of ``on.origin.changed``."""

    FAIL = "fail"
    RESTART = "restart"
    CONTINUE = "continue"


class OriginChangedError(ConnectError):
    """Error of an offset that is not a position in what the connector reads now; ends the task."""


def origin_partition(kind: str, **place: str | int) -> dict[str, Any]:
    """Return the source partition under which a connector stores the identity of an origin.

    It is for connectors whose offsets are those of a Java connector, which can read them, too: the identity lies beside
    them. ``place`` are the members that it has in common with the source partitions of the origin. REST does not show
    it, and resets it when an offset of such a source partition is altered.
    """
    return {_KIND: kind, **place}


def is_origin(partition: Mapping[str, Any] | None) -> bool:
    """Return whether a source partition is that of an identity."""
    return partition is not None and _KIND in partition


def is_origin_of(origin: Mapping[str, Any], partition: Mapping[str, Any]) -> bool:
    """Return whether a source partition is part of the origin."""
    return all(partition.get(name) == value for name, value in origin.items() if name != _KIND)


def define_origin_policy(config: ConfigDef, restart: str, proceed: str, internal: bool = False) -> ConfigDef:
    """Add the setting ``on.origin.changed``; ``restart`` and ``proceed`` complete sentences about these two values.

    ``internal`` is for the definitions of Java connectors, which clients compare.
    """
    return config.define(
        ON_ORIGIN_CHANGED,
        ConfigType.STRING,
        OriginPolicy.FAIL.value,
        ValidString(*OriginPolicy),
        Importance.MEDIUM,
        "What to do if the committed offset is not a position in the source that is there now, as after it was "
        f"recreated or restored. fail: the task fails and says why. restart: {restart}. continue: {proceed}.",
        internal=internal,
    )


def origin_changed(change: str, restart: str, proceed: str) -> OriginChangedError:
    """Return the error for ``fail``. ``change`` is a sentence without its full stop that says what has changed."""
    return OriginChangedError(
        f"{change}. Changes may have been lost. Set {ON_ORIGIN_CHANGED}=restart ({restart}) or "
        f"{ON_ORIGIN_CHANGED}=continue ({proceed}), or correct the offset of the connector"
    )
