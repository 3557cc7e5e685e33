"""Fields and the columns of tables: the setting ``schema.drift``, and names that differ only in the case of letters.

Columns that the table has and a record lacks are null, whatever the setting says. Provisional, like ``api.query``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import DataError
from penstock.api.validators import ValidString

DRIFT = "schema.drift"


class SchemaDrift(enum.StrEnum):
    """The values of the setting."""

    EVOLVE = "evolve"
    """The table gets the columns."""
    IGNORE = "ignore"
    """The fields are left out."""
    DEAD_LETTER = "dead-letter"
    """The record is not written: with ``errors.tolerance=all`` it is a dead letter, else the task fails."""
    STOP = "stop"
    """The task fails, and names the columns."""


def define_drift(config: ConfigDef, older: str) -> ConfigDef:
    """Define the setting; ``older`` is the setting that says the same in other words if this one is not there."""
    return config.define(
        DRIFT,
        ConfigType.STRING,
        None,
        ValidString(None, *SchemaDrift),
        Importance.MEDIUM,
        "Handling of fields for which the table has no column. evolve: it gets the columns, if that is possible; "
        "ignore: the fields are left out; dead-letter: the record is refused, which errors.tolerance decides about; "
        f"stop: the task fails. Without it {older} decides.",
    )


def drift_of(config: Mapping[str, str], older: str, meanings: Mapping[str, SchemaDrift]) -> SchemaDrift | None:
    """Return the setting, or what ``older`` means by its value; None without either."""
    given = (config.get(DRIFT) or "").strip()
    return SchemaDrift(given) if given else meanings.get((config.get(older) or "").strip().casefold())


def drift_problems(
    config: Mapping[str, str], older: str, meanings: Mapping[str, frozenset[SchemaDrift]]
) -> list[tuple[str, str]]:
    """Find a contradiction to the older setting, whose values allow these; return pairs of a setting and a sentence."""
    given, old = (config.get(DRIFT) or "").strip(), (config.get(older) or "").strip().casefold()
    if not given or not old or given not in set(SchemaDrift) or SchemaDrift(given) in meanings.get(old, SchemaDrift):
        return []
    return [(DRIFT, f"{DRIFT}={given} and {older}={old} contradict each other: leave {older} out")]


def check_case(names: Iterable[str], place: str, taker: str) -> None:
    """Raise DataError for two names that differ only in the case of letters.

    ``place`` is the end of "Columns a and A" in the message, ``taker`` that of "which … for one".
    """
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise DataError(
                f"Columns {other} and {name}{place} differ only in the case of letters, which {taker} for one: "
                "rename a field by ReplaceField, or leave it out"
            )
