"""Offline check of connectors in files: their validation without a worker, brokers or the systems they connect to."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.validation import WorkerRules, connector_class
from penstock.core.model.messages import PluginFailed, Refused
from penstock.declarative.resources import Resource
from penstock.hosts.jvm.build import pass_on_class_path
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, java_plugins
from penstock.plugins.passwords import password_settings
from penstock.settings.providers import has_reference
from penstock.settings.redaction import Redaction

TRANSFORMS, PREDICATES = LISTS = ("transforms", "predicates")


@dataclass(slots=True)
class Linted:
    """A connector of a file, and the findings about it."""

    name: str
    file: str
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """Settings with references to config providers, whose values are not known here, and settings whose meaning depends
    on such a value.
    """

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "file": self.file,
            "errors": self.errors,
            "warnings": self.warnings,
            "unchecked": self.unchecked,
        }


def lint(resources: Iterable[Resource], worker: Mapping[str, str], rules: WorkerRules) -> list[Linted]:
    """Return the findings about connectors that are to be there. ``worker``: the properties of their worker, for its
    plugins. Raises ConfigError for a ``plugin.path`` that is not there.

    Connectors' own ``validate`` is not called: it may contact the system that the connector connects to.
    """
    with _plugins(worker) as plugins:
        return [_linted(plugins, rules, each) for each in resources if not (each.ignored or each.deleted)]


@contextmanager
def _plugins(worker: Mapping[str, str]) -> Iterator[Plugins]:
    pass_on_class_path()
    path = [each.strip() for each in worker.get("plugin.path", "").split(",") if each.strip()]
    if missing := [each for each in path if not os.path.exists(os.path.expanduser(each))]:
        raise ConfigError("plugin.path", worker["plugin.path"], f"{missing[0]} does not exist on this machine")
    jvm, jars = java_plugins(JavaSettings.of(worker, path))
    try:
        yield Plugins.discover(path, jars)
    finally:
        if jvm is not None:
            jvm.close()


def _linted(plugins: Plugins, rules: WorkerRules, resource: Resource) -> Linted:
    found = Linted(resource.name, str(resource.path), warnings=list(resource.warnings))
    given = {**resource.wanted.config, "name": resource.name}
    open_names = {name for name, value in given.items() if has_reference(value)}
    config = _known(given, open_names)
    found.unchecked = [name for name in given if name in open_names or name not in config]
    if CONNECTOR_CLASS in open_names:
        found.unchecked = [name for name in given if name != "name"]
        return found
    redaction = Redaction()
    redaction.learn(given, password_settings(plugins.catalog, given))
    try:
        infos = plugins.validate(config, rules, config, by_connector=False)
        own = connector_class(plugins.catalog, config).config_def().validate(config)
    except (Refused, ConnectError) as error:
        found.errors.append(str(error))
    except PluginFailed as failed:
        found.errors.append(headline(failed.__cause__ or failed))
    else:
        judged = [(each.value.name, each.value.errors) for each in infos.configs if each.value is not None]
        judged += [(each.name, tuple(each.errors)) for each in own]
        errors = (error for name, errors in judged if name not in found.unchecked for error in errors)
        found.errors = list(dict.fromkeys(errors))
        found.warnings += infos.warnings
    found.errors = [redaction.clean(error) for error in found.errors]
    found.warnings = [redaction.clean(warning) for warning in found.warnings]
    return found


def _known(config: Mapping[str, str | None], open_names: Collection[str]) -> dict[str, str | None]:
    """Return the settings that can be checked while these have values that are not known.

    Without a list of transforms or predicates, or the class of a plugin, its own settings have no meaning; without its
    version they are those of the newest one.
    """
    types = (name for name in open_names if name.startswith((TRANSFORMS, PREDICATES)) and name.endswith(".type"))
    plugins = [name.removesuffix(".type") for name in types]
    prefixes = [f"{name}." for name in (*plugins, *open_names) if name in plugins or name in (*LISTS, *CONVERTERS)]
    left_out = {name for name in open_names if name in LISTS or name.endswith("plugin.version")}
    for name in config:
        if any(name.startswith(prefix) and name != f"{prefix}type" for prefix in prefixes):
            left_out.add(name)
        if PREDICATES in open_names and name.startswith(TRANSFORMS) and name.endswith((".predicate", ".negate")):
            left_out.add(name)
    return {name: value for name, value in config.items() if name not in left_out}
