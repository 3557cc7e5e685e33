"""Plugin classes in installed distributions and in the folders of ``plugin.path``.

An entry of ``plugin.path`` is a folder that holds plugins, each of them a ``.py`` file, a package, a wheel, or a folder
that ``pip install --target`` filled; the entry may also be one of these itself. In an installed distribution the entry
points of group ``penstock.plugins`` say what to load; in loose modules and packages every plugin class that ``__all__``
lists, or that is defined there. Jars, and folders of jars, are Java plugins: ``jars.py``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.hosts.jvm.plugins.locations import is_java
from penstock.hosts.python.environment import is_environment
from penstock.hosts.python.serving.discovery import GROUP, classes_of
from penstock.java.text import java_class_name
from penstock.plugins.imports import undisturbed

log = logging.getLogger(__name__)

_NOT_OF_PLUGINS = ("<frozen ", importlib.__file__, str(Path(__file__).parents[1]))

BUILT_IN = (
    "penstock.connectors",
    "penstock.pipeline.converters",
    "penstock.pipeline.transforms",
    "penstock.pipeline.transforms.predicates",
    "penstock.settings.providers",
)


@dataclass(frozen=True, slots=True)
class FoundPlugin:
    """A plugin class, the full name that configurations call it by, and where it is from."""

    cls: Any
    name: str
    location: str


def find_classes(plugin_path: Iterable[str], bases: tuple[type, ...]) -> list[FoundPlugin]:
    """All plugin classes, built-in ones first. What can't be imported is logged with one sentence and left out."""
    found: dict[type, FoundPlugin] = {}
    for source, location in plugin_sources(plugin_path):
        try:
            with undisturbed():
                classes = list(classes_of(source(), bases))
        except BaseException as error:  # a module may raise anything when it is imported, SystemExit included
            if isinstance(error, KeyboardInterrupt):
                raise
            log.error("A plugin of %s is left out, since %s can't be loaded: %s", location, source.name, _said(error))
            continue
        for cls in classes:
            found.setdefault(cls, FoundPlugin(cls, java_class_name(cls), location))
    return list(found.values())


def _said(error: BaseException) -> str:
    """Return the error, and the line of the plugin that it comes from."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    places = [f" ({each.filename}:{each.lineno})" for each in frames if not each.filename.startswith(_NOT_OF_PLUGINS)]
    return f"{type(error).__name__}: {error}{places[-1] if places else ''}"


@dataclass(frozen=True, slots=True)
class _Source:
    """Something to be imported: a module, or ``module:attribute``."""

    name: str
    file: Path | None = None

    def __call__(self) -> Any:
        module, _, attribute = self.name.partition(":")
        loaded: Any = importlib.import_module(module)
        if not self.is_loaded:
            origin = getattr(loaded, "__file__", None)
            raise ImportError(f"another module has its name, {module}: {origin or 'a part of Python'}")
        for part in filter(None, attribute.split(".")):
            loaded = getattr(loaded, part)
        return loaded

    @property
    def is_loaded(self) -> bool:
        """Whether the module of this name that has been imported is this one."""
        origin = getattr(sys.modules.get(self.name.partition(":")[0]), "__file__", None)
        if self.file is None:
            return True
        return origin is not None and Path(origin).resolve() in (self.file, self.file / "__init__.py")


def plugin_sources(plugin_path: Iterable[str]) -> Iterator[tuple[_Source, str]]:
    for name in BUILT_IN:
        yield _Source(name), "classpath"
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.value not in BUILT_IN:
            yield _Source(point.value), "classpath"
    for entry in plugin_path:
        path = Path(entry).expanduser()
        try:
            path.stat()
        except FileNotFoundError:
            log.error("The folder `%s` of plugin.path does not exist", path)
            continue
        except OSError as error:
            _can_not_be_read(path, error)
            continue
        for plugin in _unpacked(path):
            yield from _sources_of(plugin)


def _unpacked(entry: Path) -> Iterator[Path]:
    """The Python plugins in an entry of ``plugin.path``: the entry itself, or what is in it."""
    if entry.is_file() and is_java(entry):
        return
    if entry.is_file() or _distributions(entry) or _is_package(entry):
        yield entry
        return
    for child in _listed(entry):
        if child.name.startswith((".", "_")):
            continue
        if is_java(child) or is_environment(child):
            continue
        if child.suffix in (".py", ".whl", ".zip"):
            yield child
        elif os.path.isdir(child):
            if _distributions(child) or _is_package(child):
                yield child
            else:
                inside = _listed(child)
                yield from (each for each in inside if each.suffix == ".py" and not each.name.startswith("_"))
                yield from filter(_is_package, inside)


def _is_package(folder: Path) -> bool:
    return os.path.exists(folder / "__init__.py")  # also if the folder can't be read, of which ``Path`` would raise


def _listed(folder: Path) -> list[Path]:
    """List a folder; empty if it can't be read, which is logged."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        _can_not_be_read(folder, error)
        return []


def _can_not_be_read(folder: Path, error: OSError) -> None:
    log.error("The folder `%s` of plugin.path can't be read: %s", folder, error.strerror)


def _sources_of(plugin: Path) -> Iterator[tuple[_Source, str]]:
    location = plugin.resolve()
    installed = _distributions(plugin)
    if installed:
        _importable(location)
        for distribution in installed:
            for point in distribution.entry_points.select(group=GROUP):
                yield _Source(point.value), str(location)
    else:
        _importable(location.parent)
        yield _Source(location.stem, location), str(location)


def _distributions(path: Path) -> list[importlib.metadata.Distribution]:
    if path.is_file() and path.suffix not in (".whl", ".zip"):
        return []
    return list(importlib.metadata.distributions(path=[str(path.resolve())]))


def _importable(folder: Path) -> None:
    """After everything else, so that a plugin's libraries never replace those of the worker."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        importlib.invalidate_caches()
