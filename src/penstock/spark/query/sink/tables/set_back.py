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


def actions_of(text: str, files: bool = False) -> list[dict[str, Any]]:
    """Return the actions of an entry of a table's log; those on files, which may be many, only with ``files``."""
    # Statistics of texts hold characters at which str.splitlines() splits, too.
    lines = (line for line in text.split("\n") if line.strip())
    return [json.loads(line) for line in lines if files or '"commitInfo"' in line or '"txn"' in line]


def set_back(entry: Callable[[int], str | None], newest: int, application: str, number: int) -> SetBack | None:
    """Return how rows of a batch were removed from a table by setting it back; None if they were not.

    ``entry`` returns the text of a version in the table's log, None if there is none. Of a batch that is older than the
    log only a replacement of the table is known to have removed it.
    """
    found: dict[int, tuple[SetBack, int | None]] = {}
    removed: set[str] = set()
    """The files that were removed since: looked at for a RESTORE to a time, whose version is not in the log."""
    timed = False
    for version in range(newest, -1, -1):
        if (text := entry(version)) is None:
            last = _effective(found, newest, version, of_time=version)
            return last if last is not None and last.operation in REPLACING else None
        actions = actions_of(text, files=timed or f'"{RESTORE}"' in text)
        if any(
            each["txn"]["appId"] == application and each["txn"]["version"] == number
            for each in actions
            if "txn" in each
        ):
            added = {each["add"]["path"] for each in actions if "add" in each}
            return _effective(found, newest, version, of_time=version if added and not added & removed else NOTHING)
        for info in (each["commitInfo"] for each in actions if "commitInfo" in each):
            operation = str(info.get("operation"))
            if operation == RESTORE:
                target = _target(info)
                timed = timed or target is None
                found[version] = SetBack(version, operation), target
            elif operation in REPLACING:
                found[version] = SetBack(version, operation), NOTHING
        if timed:
            removed |= {each["remove"]["path"] for each in actions if "remove" in each}
    return None


def _target(info: dict[str, Any]) -> int | None:
    """Return the version that was restored; None if the log names a time only."""
    version = str((info.get("operationParameters") or {}).get("version"))
    return int(version) if version.isdecimal() else None


def _effective(found: dict[int, tuple[SetBack, int | None]], newest: int, batch: int, of_time: int) -> SetBack | None:
    """Return what removed the rows of version ``batch``, if the newest version does not have them any more.

    ``of_time``: the version to which a RESTORE to a time leads.
    """
    last: SetBack | None = None
    while newest > batch:
        earlier = [version for version in found if version <= newest]
        if not earlier:
            return None
        last, target = found[max(earlier)]
        newest = of_time if target is None else target
    return last if newest < batch else None
