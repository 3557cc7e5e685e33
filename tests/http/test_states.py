"""The states of the page: those of the table that the CLI and REST use.

``pytest tests/http/test_states.py --rewrite`` writes them into ``states.js``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.core.model.urgency import UNKNOWN, URGENCY

FILE = Path(__file__).parents[2] / "src" / "penstock" / "http" / "ui" / "states.js"


def test_the_page_ranks_states_as_the_table_does(request: pytest.FixtureRequest) -> None:
    values = {"STATES": list(URGENCY), "UNKNOWN": UNKNOWN}
    given = FILE.read_text("utf-8")

    def line(found: re.Match[str]) -> str:
        return f"export const {found[1]} = {json.dumps(values[found[1]])};"

    made = re.sub(r"^export const (\w+) = .*;$", line, given, flags=re.MULTILINE)
    if request.config.getoption("--rewrite"):
        FILE.write_text(made, "utf-8")
        return
    assert made == given
    assert set(re.findall(r"export const (\w+)", given)) == values.keys()
