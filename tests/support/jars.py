"""Jars that only tests need, pinned by lists like the package's own."""

from __future__ import annotations

from pathlib import Path

from penstock.embedded.home import EmbeddedError, home
from penstock.embedded.jars import Jar, ensure
from support.machine import missing


def listed(path: Path) -> list[Path]:
    """Return the files of the list at ``path``, downloaded if missing. Raises EmbeddedError."""
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return ensure([Jar(sha256, *coordinates.split(":")) for sha256, coordinates in rows], home() / "jars")


def require(path: Path) -> None:
    """Skips the test if the jars of the list at ``path`` can't be downloaded; in CI, fails it."""
    try:
        listed(path)
    except EmbeddedError as error:
        missing(f"no jars for this test: {error}")
