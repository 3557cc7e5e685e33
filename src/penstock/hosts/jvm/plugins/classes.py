"""A Python class for each Java plugin, by which the rest of Penstock uses it.

A class of a connector, a config provider or an override policy works with the worker's JVM; one of a transform, a
predicate or a converter with the JVM of the task that uses it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.api.errors import ConfigError
from penstock.hosts.jvm.plugins.catalogue import Catalogue, JavaPlugin
from penstock.hosts.jvm.plugins.connector import JavaSinkConnector, JavaSourceConnector
from penstock.hosts.jvm.plugins.control import ControlJvm
from penstock.hosts.jvm.plugins.worker import JavaConfigProvider, JavaOverridePolicy
from penstock.hosts.jvm.tasks.steps import JavaConverter, JavaHeaderConverter, JavaPredicate, JavaTransformation

log = logging.getLogger(__name__)

BASES: dict[str, type] = {
    "source": JavaSourceConnector,
    "sink": JavaSinkConnector,
    "transformation": JavaTransformation,
    "predicate": JavaPredicate,
    "converter": JavaConverter,
    "header_converter": JavaHeaderConverter,
    "configprovider": JavaConfigProvider,
    "connector_client_config_override_policy": JavaOverridePolicy,
}
REST_EXTENSION = "rest_extension"


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A plugin with the kinds as which it counts, and its Python class."""

    plugin: JavaPlugin
    kinds: tuple[str, ...]
    type: type


def java_classes(catalogue: Catalogue, mode: str, jvm: ControlJvm | None) -> Iterator[JavaClass]:
    """Yield the plugins that count in this mode of ``plugin.discovery``."""
    for plugin in catalogue.plugins:
        kinds = tuple(kind for kind in plugin.kinds(mode) if kind != REST_EXTENSION)
        if kinds:
            yield JavaClass(plugin, kinds, _class(plugin, kinds, jvm))


def report(catalogue: Catalogue, mode: str) -> None:
    """Log which classes are left out, and why. Raises ConfigError in mode ``hybrid_fail`` if manifests are missing."""
    for problem in (*catalogue.problems, *(each.problem for each in catalogue.newer)):
        log.error("%s", problem)
    for plugin in catalogue.plugins:
        if REST_EXTENSION in plugin.kinds(mode):
            log.error("%s of %s is left out: REST extensions can't be used", plugin.name, plugin.location)
    _report_manifests(catalogue, mode)


def _report_manifests(catalogue: Catalogue, mode: str) -> None:
    """Java: ``Plugins.maybeReportHybridDiscoveryIssue``."""
    if not mode.startswith("hybrid_"):
        return
    missing = [
        f"{plugin.url}\t{plugin.name}\t{kind}\t{plugin.version}"
        for plugin in catalogue.plugins
        for kind in plugin.scan
        if kind not in plugin.service
    ]
    if not missing:
        log.warning("All plugins have ServiceLoader manifests, consider reconfiguring plugin.discovery=service_load")
        return
    message = (
        "One or more plugins are missing ServiceLoader manifests may not be usable with plugin.discovery=service_load: "
        + "[\n"
        + "\n".join(missing)
        + "\n]\nRead the documentation at https://kafka.apache.org/documentation.html#connect_plugindiscovery for "
        "instructions on migrating your plugins to take advantage of the performance improvements of service_load mode."
    )
    if mode == "hybrid_fail":
        raise ConfigError(f"{message} To silence this error, set plugin.discovery=hybrid_warn in the worker config.")
    log.warning("%s To silence this warning, set plugin.discovery=only_scan in the worker config.", message)


def _class(plugin: JavaPlugin, kinds: tuple[str, ...], jvm: ControlJvm | None) -> type:
    bases = tuple(dict.fromkeys(BASES[kind] for kind in kinds if kind in BASES)) or (object,)
    simple = plugin.name.rpartition(".")[2].rpartition("$")[2]
    location = str(plugin.location)
    own = {"java_name": plugin.name, "java_plugin": plugin, "java_location": location, "jvm": jvm}
    return type(simple, bases, own)
