"""The plugin classes of an environment: those of its entry points, and those of loose modules."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.api.connector import Connector, SinkConnector, SourceConnector
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.override_policy import ClientOverridePolicy
from penstock.api.provider import ConfigProvider
from penstock.api.query import QueryTask
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask
from penstock.api.transform import Predicate, Transformation
from penstock.java.text import java_class_name

GROUP = "penstock.plugins"
OTHERS = {
    Transformation: "transforms",
    Predicate: "predicates",
    Converter: "converters",
    HeaderConverter: "header converters",
    ConfigProvider: "config providers",
    ClientOverridePolicy: "override policies",
}
_BASES = (SourceConnector, SinkConnector, *OTHERS)
_FORWARDED = (
    "validate",
    "exactly_once_support",
    "can_define_transaction_boundaries",
    "alter_offsets",
    "tasks_for_preview",
)


def named(target: str) -> Any:
    """Return the object that ``module:Qual.Name`` names, or the module."""
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        found = getattr(found, part)
    return found


def discover(modules: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the connectors, and a sentence for everything that is left out."""
    targets = [point.value for point in importlib.metadata.entry_points(group=GROUP)]
    found: dict[type, dict[str, Any]] = {}
    left_out = []
    for target in (*targets, *modules):
        try:
            classes = list(classes_of(named(target), _BASES))
        except BaseException as error:  # a module may raise anything when it is imported, SystemExit included
            left_out.append(f"{target} is left out, since it can't be loaded: {error!r}")
            continue
        for cls in classes:
            if cls not in found and (problem := _problem(cls)):
                left_out.append(problem)
            elif cls not in found:
                found[cls] = _described(cls)
    return list(found.values()), list(dict.fromkeys(left_out))


def classes_of(loaded: Any, bases: tuple[type, ...]) -> Iterator[type]:
    """The plugin classes that an entry point or a module stands for."""
    if isinstance(loaded, type):
        yield loaded
        return
    listed = getattr(loaded, "__all__", None)
    names = [name for name in vars(loaded) if not name.startswith("_")] if listed is None else listed
    for name in names:
        cls = getattr(loaded, name)
        own = listed is not None or getattr(cls, "__module__", "").split(".")[0] == loaded.__name__.split(".")[0]
        if (
            isinstance(cls, type)
            and own
            and issubclass(cls, bases)
            and cls not in bases
            and not inspect.isabstract(cls)
        ):
            yield cls


def _problem(cls: type) -> str | None:
    name = java_class_name(cls)
    if not issubclass(cls, (SourceConnector, SinkConnector)):
        others = next((shown for base, shown in OTHERS.items() if issubclass(cls, base)), "plugins of this kind")
        return (
            f"{name} is left out: {others} can't have an environment of their own, only connectors can; install it "
            "into the worker's environment, or as a folder of plugin.path"
        )
    try:
        cls.version()
        task = cls().task_class()
    except Exception as error:
        return f"{name} is left out, since its version() or task_class() raised {error!r}"
    if issubclass(task, QueryTask):
        return f"{name} is left out: tasks that are queries of Spark can't run in an environment of their own"
    return None


def _described(cls: type[Connector]) -> dict[str, Any]:
    base = SourceConnector if issubclass(cls, SourceConnector) else SinkConnector
    return {
        "class": java_class_name(cls),
        "target": f"{cls.__module__}:{cls.__qualname__}",
        "kind": "source" if base is SourceConnector else "sink",
        "version": str(cls.version() or "undefined"),
        "task": java_class_name(cls().task_class()),
        "prefixes": list(cls.setting_prefixes),
        "harmless": issubclass(cls, SourceConnector) and bool(cls.polling_is_harmless),
        "overrides": [m for m in _FORWARDED if getattr(cls, m, None) is not getattr(base, m, None)],
    }


def overridden(task: type[SourceTask] | type[SinkTask], base: type) -> list[str]:
    """Return the methods of the base that a task's class overrides."""
    return [name for name in vars(base) if not name.startswith("_") and getattr(task, name) is not getattr(base, name)]
