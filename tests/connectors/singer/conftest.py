"""The tap as an executable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture
def tap(tmp_path: Path) -> Path:
    found = tmp_path / "tap-numbers"
    found.write_text((Path(__file__).parent / "numbers_tap.py").read_text().replace("#!PYTHON", f"#!{sys.executable}"))
    found.chmod(0o755)
    return found
