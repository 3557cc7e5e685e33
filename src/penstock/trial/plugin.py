"""The plugin that is tried out, the configuration of its connector, and whether they have changed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.embedded import EmbeddedError

_NOT_SOURCE = {"__pycache__", "node_modules", "build", "dist", "plugins"}
_SOURCES = {".py", ".so", ".pyd", ".toml", ".lock", ".jar", ".class", ".zip", ".whl"}
"""Ends of files that count wherever they are, in lower case."""


def plugin_path(given: Path) -> Path:
    """Return the folder that ``plugin.path`` has to name for the plugin at ``given``: a package's folder as ``penstock
    new`` makes it, a module, or a folder as ``plugin.path`` has it. Raises EmbeddedError.
    """
    if not given.exists():
        raise EmbeddedError(
            f"There is no {given}: name the folder of a plugin, such as `penstock new` makes, or a .py file."
        )
    sources = given / "src"
    return (sources if sources.is_dir() else given).absolute()


def require_own_modules(path: Path) -> None:
    """Raises EmbeddedError if another plugin would run in place of the one at ``path``."""
    for module, origin in other_modules(path).items():
        raise EmbeddedError(
            f"Python finds another module by the name of {module}: {origin}. "
            f"Rename one of them, or uninstall the other one, so that the one here runs."
        )


def other_modules(path: Path) -> dict[Path, str]:
    """The modules at ``path``, by ``plugin_path``, by whose name Python finds another one, and where that is."""
    others = {}
    for module in _modules(path):
        try:
            found = importlib.util.find_spec(module.stem)
        except (ImportError, ValueError):  # no name of a module: the worker says so
            continue
        if found is None or found.origin is None:
            continue
        if Path(found.origin).resolve() not in (module.resolve(), module.resolve() / "__init__.py"):
            others[module] = found.origin
    return others


def _modules(path: Path) -> Iterator[Path]:
    if path.suffix == ".py" or (path / "__init__.py").exists():
        yield path
    elif path.is_dir():
        yield from (each for each in sorted(path.glob("*.py")) if not each.name.startswith("_"))
        yield from (each.parent for each in sorted(path.glob("*/__init__.py")))


def config_file(plugin: Path, given: Path | None) -> Path:
    """The file of the connector's configuration: the one given, as it is or in the plugin's folder, or the
    ``config.json`` there. Raises EmbeddedError.
    """
    wanted = given or Path("config.json")
    for path in (wanted, plugin / wanted) if given else (plugin / wanted,):
        if path.is_file():
            return path
    raise EmbeddedError(f"There is no {given or plugin / wanted}: name the file of a connector's configuration.")


class FileChanges:
    """Changes of the files at ``paths``, and of files in and below those that are folders: there only of sources, and
    of other files in packages. Files that a connector writes beside its plugin do not count.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._last = dict(self._now())

    def since_last(self) -> list[Path]:
        """Return the files changed, added or removed since the last call, or since this object was created."""
        now = dict(self._now())
        changed = [path for path in {**self._last, **now} if self._last.get(path) != now.get(path)]
        self._last = now
        return changed

    def _now(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        for path in self._files():
            try:
                status = path.stat()
            except OSError:  # an editor replaces it just now
                continue
            yield path, (status.st_mtime_ns, status.st_size)

    def _files(self) -> Iterator[Path]:
        for path in self._paths:
            if not path.is_dir():
                yield path
                continue
            packages: set[str] = set()
            for folder, folders, files in os.walk(path):
                folders[:] = [name for name in folders if not name.startswith(".") and name not in _NOT_SOURCE]
                if Path(folder) != path and ("__init__.py" in files or os.path.dirname(folder) in packages):
                    packages.add(folder)
                found = (Path(folder, name) for name in files if not name.startswith("."))
                yield from (each for each in found if folder in packages or each.suffix.lower() in _SOURCES)
