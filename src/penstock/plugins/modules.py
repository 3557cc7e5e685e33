"""The modules that plugins are in, by whose names configurations may call functions."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from penstock.plugins.path import plugin_sources


def plugin_modules(plugin_path: Iterable[str]) -> list[str]:
    """The top-level modules of plugins that have been loaded, but for Penstock's own.

    A plugin whose name is that of another module, of Python itself, say, is not among them.
    """
    names = set()
    for source, _ in plugin_sources(plugin_path):
        name = source.name.partition(":")[0]
        if name in sys.modules and source.is_loaded:
            names.add(name.partition(".")[0])
    return sorted(names - {"penstock"})
