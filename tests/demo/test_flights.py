from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from penstock.demo import flights
from penstock.demo.problem import DemoError

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_missing_data_names_the_packages_that_the_demo_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their own names: Penstock itself is in no package index."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DemoError, match="Run `make demo` in a clone of the repository, or `pip install ") as raised:
        flights.airlines()
    extra = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["demo"]
    needed = [re.match(r"[\w-]+", requirement)[0] for requirement in extra]
    assert str(raised.value).endswith(f"`pip install {' '.join(needed)}`.")
