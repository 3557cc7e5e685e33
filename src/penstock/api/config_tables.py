"""Definitions of many settings, written as a table. Provisional.

A table has a definition in each line, and below it its documentation, indented. A definition is name, type, importance
and default; no default is null, ``!`` means required, ``""`` the empty text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.validators import Validator

_DEFAULTS = {"!": NO_DEFAULT, '""': ""}


def define_table(
    config: ConfigDef,
    table: str,
    documentation: Mapping[str, str] | None = None,
    checks: Mapping[str, Validator] | None = None,
) -> ConfigDef:
    """Add the definitions of a table; return the same ``config``.

    ``documentation`` has the texts of names that have none in the table, ``checks`` validators of names.
    """
    shared = documentation or {}
    for definition, text in _rows(table):
        name, type, importance, *default = definition.split(maxsplit=3)
        given: Any = _DEFAULTS.get(default[0], default[0]) if default else None
        words = text or shared.get(name, "")
        check = (checks or {}).get(name)
        config.define(name, ConfigType[type], given, check, Importance[importance], words)
    return config


def _rows(table: str) -> Iterator[tuple[str, str]]:
    """Yield each definition with its documentation."""
    definition, words = "", list[str]()
    for line in table.strip().splitlines():
        if line.startswith(" "):
            words.append(line.strip())
            continue
        if definition:
            yield definition, " ".join(words)
        definition, words = line, []
    yield definition, " ".join(words)
