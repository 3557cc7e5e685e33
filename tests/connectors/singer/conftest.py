"""The tap and the target as executables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def executable(name: str, source: str, folder: Path) -> Path:
    found = folder / name
    found.write_text((Path(__file__).parent / source).read_text().replace("#!PYTHON", f"#!{sys.executable}"))
    found.chmod(0o755)
    return found


@pytest.fixture
def tap(tmp_path: Path) -> Path:
    return executable("tap-numbers", "numbers_tap.py", tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return executable("target-lines", "lines_target.py", tmp_path)
