"""Origins: the things that source offsets are positions in, and the policy for an origin that has changed.

A connector stores the identity of its origin with its offsets, such as the system identifier of a database server, and
compares it before it uses an offset. The identity is a member of the offset, or lies in a header of the offset's record
(``IdentifiedDict``), where neither the key nor the value of a Java connector's offset changes. What the runtime itself
stores among offsets has source partitions of its own (``origin_partition``). Provisional: for connectors that are
shipped with the runtime.
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


class IdentifiedDict(dict[str, Any]):
    """Source offset, or source partition, with the identity of its origin, which is stored in a header of its record.

    A task gives it to the runtime in a batch or record; the identity of an offset comes before that of its partition.
    ``OffsetReader`` returns it for a committed offset that was stored with an identity. Equal to a ``dict`` of its
    members. The identity is plain JSON.
    """

    __slots__ = ("identity",)

    def __init__(self, members: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
        super().__init__(members)
        self.identity = identity


def identity_of(*members: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the identity of the first of these offsets or partitions that has one; None if there is none.

    The offset may have been written by a Java connector, by a version without identities, or by a client of REST.
    """
    return next((each.identity for each in members if isinstance(each, IdentifiedDict)), None)


def origin_partition(kind: str, **place: str | int) -> dict[str, Any]:
    """Return a source partition under which the runtime stores something of its own, which REST does not show.

    ``place``: further members, which tell those of one kind apart.
    """
    return {_KIND: kind, **place}


def is_origin(partition: Mapping[str, Any] | None, kind: str | None = None) -> bool:
    """Return whether a source partition is one of ``origin_partition``, or one of this kind."""
    return partition is not None and _KIND in partition and kind in (None, partition[_KIND])


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
