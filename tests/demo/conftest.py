"""The demo runs from the wheel, too."""

from __future__ import annotations

from installed.conftest import dist, installed

__all__ = ["dist", "installed"]
