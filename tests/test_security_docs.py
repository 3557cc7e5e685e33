"""docs/security.md says what is true: its table of switches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.api.config import NO_DEFAULT, ConfigDef
from penstock.settings.definitions import distributed_config
from penstock.settings.security import define_access, define_permissions, define_rest_limits

PAGE = (Path(__file__).parents[1] / "docs" / "security.md").read_text()
FAMILIES = ("listeners.https.", "spark.")


def rows(title: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line] for line in lines]


SWITCHES = {row[0].strip("`"): row[1] for row in rows("Every switch")}


def test_every_switch_is_in_the_table() -> None:
    wanted = ConfigDef()
    for define in (define_rest_limits, define_permissions, define_access):
        define(wanted)
    settings = distributed_config().keys
    more = {name for name in settings if name.startswith(("access.control.", "inter.worker.", "connector.client."))}
    assert (set(wanted.keys) | more) - set(SWITCHES) == set()
    assert [name for name in SWITCHES if name not in settings and not name.startswith(FAMILIES)] == []


@pytest.mark.parametrize("name", [name for name in SWITCHES if not name.startswith(FAMILIES)])
def test_defaults_are_those_of_the_settings(name: str) -> None:
    default: Any = distributed_config().keys[name].default
    shown = ",".join(map(str, default)) if isinstance(default, list) else default
    if default in (None, NO_DEFAULT) or shown == "":
        assert "`" not in SWITCHES[name] or name in ("admin.listeners", "penstock.spark.formats.allowed")
    else:
        text = str(shown).lower() if isinstance(default, bool) else str(shown)
        assert SWITCHES[name] == f"`{text}`"
