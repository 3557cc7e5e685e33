"""Delta tables that were set back: a RESTORE removes rows and keeps the numbers of the batches that they came in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

REPLACING = frozenset(
    {
        "CLONE",
        "REPLACE TABLE",
        "REPLACE TABLE AS SELECT",
        "CREATE OR REPLACE TABLE",
        "CREATE OR REPLACE TABLE AS SELECT",
    }
)
"""Operations of Delta after which a table has none of its earlier rows."""
RESTORE = "RESTORE"
NOTHING = -1
"""In place of the number of a version: none of the earlier ones."""


class SetBack(NamedTuple):
    """The version that set a table back, and by which operation."""

    version: int
    operation: str


def actions_of(text: str) -> list[dict[str, Any]]:
    """Return the actions of an entry of a table's log."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def set_back(entry: Callable[[int], str | None], newest: int, application: str, number: int) -> SetBack | None:
    """Return how rows of a batch were removed from a table by setting it back; None if they were not.

    ``entry`` returns the text of a version in the table's log, None if there is none. A version to which a table can be
    set back is in the log: a batch that is older than the log was not removed so.
    """
    found: dict[int, tuple[SetBack, int]] = {}
    for version in range(newest, -1, -1):
        if (text := entry(version)) is None:
            return None
        actions = actions_of(text)
        if any(
            each["txn"]["appId"] == application and each["txn"]["version"] == number
            for each in actions
            if "txn" in each
        ):
            return _effective(found, newest, version)
        for info in (each["commitInfo"] for each in actions if "commitInfo" in each):
            operation = str(info.get("operation"))
            if operation == RESTORE:
                found[version] = SetBack(version, operation), _target(info)
            elif operation in REPLACING:
                found[version] = SetBack(version, operation), NOTHING
    return None


def _target(info: dict[str, Any]) -> int:
    """Return the version that was restored; NOTHING if the log names a time only."""
    version = str((info.get("operationParameters") or {}).get("version"))
    return int(version) if version.isdecimal() else NOTHING


def _effective(found: dict[int, tuple[SetBack, int]], newest: int, batch: int) -> SetBack | None:
    """Return what removed the rows of version ``batch``, if the newest version does not have them any more."""
    last: SetBack | None = None
    while newest > batch:
        earlier = [version for version in found if version <= newest]
        if not earlier:
            return None
        last, newest = found[max(earlier)]
    return last if newest < batch else None
