"""Offline check of connectors in files: their validation without a worker, brokers or the systems they connect to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.validation import WorkerRules, connector_class
from penstock.core.model.messages import PluginFailed, Refused
from penstock.declarative.resources import Resource
from penstock.hosts.jvm.build import pass_on_class_path
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, java_plugins
from penstock.settings.providers import has_reference


@dataclass(slots=True)
class Linted:
    """A connector of a file, and the findings about it."""

    name: str
    file: str
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """Settings with references to config providers, whose values are not known here."""

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
    config = {**resource.wanted.config, "name": resource.name}
    found.unchecked = [name for name, value in config.items() if has_reference(value)]
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
        errors = (error for name, errors in judged if not has_reference(config.get(name)) for error in errors)
        found.errors = list(dict.fromkeys(errors))
        found.warnings += infos.warnings
    return found
