"""Origins: the things that source offsets are positions in, and the policy for an origin that has changed.

A connector stores the identity of its origin with its offsets, such as the system identifier of a database server, and
compares it before it uses an offset. Provisional: for connectors that are shipped with the runtime.
"""

from __future__ import annotations

import enum

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConnectError
from penstock.api.validators import ValidString

ON_ORIGIN_CHANGED = "on.origin.changed"


class OriginPolicy(enum.StrEnum):
    """A value of ``on.origin.changed``."""

    FAIL = "fail"
    RESTART = "restart"
    CONTINUE = "continue"


class OriginChangedError(ConnectError):
    """Error of an offset that is not a position in what the connector reads now; ends the task."""


def define_origin_policy(config: ConfigDef, restart: str, proceed: str) -> ConfigDef:
    """Add the setting ``on.origin.changed``; ``restart`` and ``proceed`` complete sentences about these two values."""
    return config.define(
        ON_ORIGIN_CHANGED,
        ConfigType.STRING,
        OriginPolicy.FAIL.value,
        ValidString(*OriginPolicy),
        Importance.MEDIUM,
        "What to do if the committed offset is not a position in the source that is there now, as after it was "
        f"recreated or restored. fail: the task fails and says why. restart: {restart}. continue: {proceed}.",
    )


def origin_changed(change: str, restart: str, proceed: str) -> OriginChangedError:
    """Return the error for ``fail``. ``change`` is a sentence without its full stop that says what has changed."""
    return OriginChangedError(
        f"{change}. Changes may have been lost. Set {ON_ORIGIN_CHANGED}=restart ({restart}) or "
        f"{ON_ORIGIN_CHANGED}=continue ({proceed}), or correct the offset of the connector"
    )
