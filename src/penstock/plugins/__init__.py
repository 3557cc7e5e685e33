"""The plugins of this process: found by ``path.py``, looked up and run by ``registry.py``."""

from __future__ import annotations

from penstock.plugins.registry import Plugins

__all__ = ["Plugins"]
