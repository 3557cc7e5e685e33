"""The Java plugins of ``plugin.path`` in the catalog of plugins.

``JavaSettings`` is how the worker and the tasks say which Java and which jars; without jars nothing is started.
"""

from __future__ import annotations

import functools
import os
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from penstock.api.config import ConfigDef
from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Kind, PluginClass
from penstock.core.config.versions import UNDEFINED_VERSION
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm.build import JAR_SETS, KAFKA, class_path
from penstock.hosts.jvm.plugins.catalogue import Catalogue, NewerClass, find, java_executable, url_of
from penstock.hosts.jvm.plugins.classes import REST_EXTENSION, JavaClass, java_classes, report
from penstock.hosts.jvm.plugins.config_def import config_def
from penstock.hosts.jvm.plugins.control import ControlJvm
from penstock.hosts.jvm.process import JvmSpec

LINGER_MS = 1000
"""Time for which the worker's JVM stays after the worker has released it."""


@dataclass(frozen=True, slots=True)
class JavaSettings:
    """The worker's settings for Java plugins."""

    plugin_path: tuple[str, ...] = ()
    discovery: str = "hybrid_warn"
    java_home: str | None = None
    options: tuple[str, ...] = ()
    kafka: str | None = None

    @classmethod
    def of(cls, config: Mapping[str, str], plugin_path: Sequence[str]) -> Self:
        """Read a worker's properties. Raises ConfigError for options that can't be split into words, and for a
        Kafka that no host has.
        """
        try:
            options = tuple(shlex.split(config.get("penstock.java.opts") or ""))
        except ValueError as error:
            raise ConfigError("penstock.java.opts", config["penstock.java.opts"], str(error)) from error
        kafka = (config.get(KAFKA) or "").strip() or None
        if kafka not in (None, *JAR_SETS):
            raise ConfigError(KAFKA, kafka, f"must be one of: {', '.join(JAR_SETS)}")
        return cls(
            tuple(plugin_path),
            (config.get("plugin.discovery") or "hybrid_warn").strip().lower(),
            (config.get("penstock.java.home") or "").strip() or None,
            options,
            kafka,
        )

    def check_home(self) -> None:
        """Raises ConfigError if ``penstock.java.home`` is no Java in which plugins could run."""
        try:
            if self.java_home:
                java_executable(self.java_home)
        except EmbeddedError as error:
            raise ConfigError(str(error)) from error

    def catalogue(self) -> Catalogue | None:
        """Return the plugins in the jars; None without jars. Raises ConfigError."""
        try:
            return find(self.plugin_path, self.java_home, self.kafka)
        except EmbeddedError as error:
            raise ConfigError(str(error)) from error

    def spec(self, key: str, catalogue: Catalogue) -> JvmSpec:
        """The JVM of this key with these plugins. Raises ConfigError."""
        try:
            settings = {"catalogue": str(catalogue.file), "linger.ms": LINGER_MS}
            return JvmSpec(key, java_executable(self.java_home), class_path(self.kafka), self.options, settings)
        except EmbeddedError as error:
            raise ConfigError(str(error)) from error


def plugin_classes(catalogue: Catalogue, discovery: str, jvm: ControlJvm | None = None) -> list[PluginClass]:
    """The plugins of a catalogue; with the worker's JVM their settings can be validated.

    Raises ConfigError for what ``plugin.discovery=hybrid_fail`` refuses.
    """
    if jvm is not None:
        report(catalogue, discovery)
    return [
        *(_plugin_class(each, jvm) for each in java_classes(catalogue, discovery, jvm)),
        *(_unusable(each) for each in catalogue.newer),
    ]


def java_plugins(settings: JavaSettings) -> tuple[ControlJvm | None, list[PluginClass]]:
    """A worker's JVM, not started yet, and the plugins from jars; nothing without jars. Raises ConfigError."""
    settings.check_home()
    found = settings.catalogue()
    if found is None:
        return None, []
    key = f"worker {os.getpid()} {secrets.token_hex(4)}"
    jvm = ControlJvm(lambda: settings.spec(key, found))
    return jvm, plugin_classes(found, settings.discovery, jvm)


@functools.cache
def task_classes(settings: JavaSettings) -> tuple[PluginClass, ...]:
    """The plugins from jars as tasks use them; none, at no cost, without jars."""
    catalogue = settings.catalogue()
    return () if catalogue is None else tuple(plugin_classes(catalogue, settings.discovery))


def _unusable(found: NewerClass) -> PluginClass:
    kinds = tuple(Kind(kind) for kind in found.kinds if kind != REST_EXTENSION)
    url = url_of(found.location)
    return PluginClass(found.name, kinds, UNDEFINED_VERSION, ConfigDef, location=url, problem=found.problem)


def _plugin_class(found: JavaClass, jvm: ControlJvm | None) -> PluginClass:
    plugin = found.plugin

    def defined() -> ConfigDef:
        return config_def(plugin, jvm)

    kinds = tuple(Kind(kind) for kind in found.kinds)
    return PluginClass(plugin.name, kinds, plugin.version, defined, found.type, plugin.url)
