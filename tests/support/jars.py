"""Jars that only tests need, pinned in lists as the package's own are."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError, home
from penstock.embedded.jars import Jar, ensure


def listed(path: Path) -> list[Path]:
    """The files of the list at ``path``, fetched when missing. Raises EmbeddedError."""
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return ensure([Jar(sha256, *coordinates.split(":")) for sha256, coordinates in rows], home() / "jars")


def needed(path: Path) -> None:
    """Skips a test where the jars of the list at ``path`` are not to be had, and says why."""
    try:
        listed(path)
    except EmbeddedError as error:
        pytest.skip(f"no jars for this test: {error}")
