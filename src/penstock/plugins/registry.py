"""Finds plugin classes, and runs the part of their code that validation needs.

Classes come from entry points of group ``penstock.plugins`` and from the folders of ``plugin.path``; ``path.py`` reads
those. The Catalog knows the names by which configurations call them. Java: ``Plugins``.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.config import ConfigDef, ConfigKeyInfo
from penstock.api.connector import Connector, SinkConnector, SourceConnector
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.override_policy import ClientOverridePolicy
from penstock.api.provider import ConfigProvider
from penstock.api.query import QuerySinkConnector
from penstock.api.runtime_hooks import ShowsRuntimeSettings
from penstock.api.transform import Predicate, Transformation
from penstock.core.config.catalog import CONNECTORS, Catalog, Kind, PluginClass
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.overrides import OverridePolicy, override_policy
from penstock.core.config.runtime_settings import common_config
from penstock.core.config.validation import (
    WorkerRules,
    connector_class,
    ignored_settings,
    named_connector,
    plugin_config,
    validate_connector,
)
from penstock.core.model.messages import Refused
from penstock.plugins.environments import Environments
from penstock.plugins.path import FoundPlugin, find_classes

log = logging.getLogger(__name__)

NO_CONFIG: Mapping[str, str] = {}
MAX_NOT_FOUND, MAX_NOT_FOUND_LENGTH = 1000, 1000
"""Names of missing classes that are remembered, and the characters of each: clients send them."""

_BASES: dict[Kind, type] = {
    Kind.SINK: SinkConnector,
    Kind.SOURCE: SourceConnector,
    Kind.CONVERTER: Converter,
    Kind.HEADER_CONVERTER: HeaderConverter,
    Kind.TRANSFORMATION: Transformation,
    Kind.PREDICATE: Predicate,
    Kind.CONFIG_PROVIDER: ConfigProvider,
    Kind.OVERRIDE_POLICY: ClientOverridePolicy,
}


class Plugins:
    """All plugins of this process. A plugin that can't be used is logged and left out; the others are not affected."""

    def __init__(
        self,
        plugin_path: Iterable[str] = (),
        java: Iterable[PluginClass] = (),
        worker_config: Mapping[str, str] = NO_CONFIG,
    ) -> None:
        """``java`` has the classes from jars. A connector from a jar hides a built-in one of its name."""
        path = tuple(plugin_path)
        found = find_classes(path, tuple(_BASES.values()))
        self._own = [each for each in map(_described, found) if each is not None]
        self._java = tuple(java)
        self._environments = Environments(path, worker_config)
        self._known = self._environments.classes()
        self._catalog = _catalog(self._own, self._java, self._known)
        self._not_found: set[str] = set()

    @property
    def catalog(self) -> Catalog:
        """Return the current plugins: those with an environment of their own are added and removed at any time."""
        known = self._environments.classes()
        if known is not self._known:
            self._catalog = _catalog(self._own, self._java, known)
            self._known = known
        return self._catalog

    def close(self) -> None:
        self._environments.close()

    def plus(self, java: Iterable[PluginClass]) -> Plugins:
        """These, and classes from jars."""
        more = copy.copy(self)
        more._java = tuple(java)
        more._catalog = _catalog(self._own, more._java, more._known)
        return more

    @classmethod
    def discover(
        cls,
        plugin_path: Iterable[str] = (),
        java: Iterable[PluginClass] = (),
        worker_config: Mapping[str, str] = NO_CONFIG,
    ) -> Plugins:
        """``plugin_path`` holds folders as the worker's ``plugin.path`` names them."""
        return cls(plugin_path, java, worker_config)

    # -- classes

    def resolve(self, kind: str | Kind, name: str, version: str | None = None, near: str | None = None) -> type:
        """The class of this kind that a configuration names, in a wanted version, and rather from the place ``near``.

        Raises ConfigError, which says what there is.
        """
        kind = Kind(kind)
        found = self.catalog.choose(name.strip(), version, near)
        if found is not None and kind in found.kinds:
            cls: type = found.type
            return cls
        if found is not None:
            raise ConfigError(f"Class {found} does not implement the {kind.interface} interface")
        if problem := self.catalog.problem(name.strip()):
            raise ConfigError(problem)
        known = ", ".join(each.java_name for each in self.catalog.of_kind(kind))
        raise ConfigError(
            f"Failed to find any class that implements {kind.interface} and which name matches {name}, "
            f"available plugins are: {known}"
        )

    def resolver(self, connector: Mapping[str, str | None]) -> Callable[..., type]:
        """``resolve`` for the chain of a connector: classes beside its own come first, as in Java."""
        found = self._connector(connector)
        return functools.partial(self.resolve, near=None if found is None else found.location)

    def connector(self, config: Mapping[str, str | None]) -> type[Connector]:
        """The connector class that a connector's configuration names. Raises Refused if there is none."""
        cls: type[Connector] = connector_class(self.catalog, config).type
        return cls

    def override_policy(self, name: str, worker_config: Mapping[str, str]) -> OverridePolicy:
        """The policy that a worker's configuration names. Raises ConfigError."""
        found = self.catalog.load(name)
        if found is not None and Kind.OVERRIDE_POLICY in found.kinds:
            policy: ClientOverridePolicy = found.type()
            policy.configure(worker_config)
            return policy
        allowed = worker_config.get("connector.client.config.override.allowlist") or ""
        return override_policy(name, [each.strip() for each in allowed.split(",") if each.strip()])

    # -- for the herder

    def kind(self, config: Mapping[str, str | None] | None) -> str:
        """``source``, ``sink``, or ``unknown`` for a class that is not installed."""
        found = self._connector(config)
        return "unknown" if found is None else next(kind.value for kind in CONNECTORS if kind in found.kinds)

    def is_query_sink(self, config: Mapping[str, str]) -> bool:
        """Return whether the connector is a sink whose tasks are queries; False for a class that is not installed."""
        try:
            return issubclass(self.connector(config), QuerySinkConnector)
        except Refused:
            return False

    def version(self, config: Mapping[str, str | None] | None) -> str | None:
        """The version of the connector's class; None if it is not installed."""
        found = self._connector(config)
        return None if found is None else found.version

    def _connector(self, config: Mapping[str, str | None] | None) -> PluginClass | None:
        try:
            return None if config is None else connector_class(self.catalog, config)
        except Refused:
            return None

    # -- for requests

    def listing(self, connectors_only: bool = True, unusable: bool = False) -> list[dict[str, str]]:
        return self.catalog.listing(connectors_only, unusable)

    def config(self, name: str, version: str | None = None) -> list[ConfigKeyInfo] | None:
        """All settings of a plugin; None if there is no such plugin. Raises Refused for one that has no settings to
        show, and ConfigError for one that is not there in this version.
        """
        return plugin_config(self.catalog, name, version)

    def validate(
        self,
        props: Mapping[str, str | None],
        rules: WorkerRules,
        raw: Mapping[str, str | None] | None = None,
        by_connector: bool = True,
    ) -> ConfigInfos:
        """Validates a connector's configuration; runs the connector's own code, so call it on a thread.

        ``props`` has references to config providers resolved, ``raw`` is what the user gave. Raises Refused, and what
        the connector raises. ``by_connector``: whether the connector's ``validate`` is called, which may contact the
        system that it connects to.
        """
        self._check_present(props, props if raw is None else raw)
        return validate_connector(self.catalog, props, lambda: self.connector(props)(), rules, raw, by_connector)

    def ignored(self, props: Mapping[str, str | None], rules: WorkerRules, raw: Mapping[str, str | None]) -> list[str]:
        """Return the settings that certainly have no effect; ``props`` and ``raw`` are as in ``validate``.

        No object of the connector is made. Raises Refused, ConfigError, and what plugins raise when they are asked for
        their settings.
        """
        return ignored_settings(self.catalog, props, self.connector(props).setting_prefixes, rules, raw)

    def _check_present(self, props: Mapping[str, str | None], raw: Mapping[str, str | None]) -> None:
        """Raises Refused without the connector's class; its message has values as in ``raw``. Java remembers a missing
        one, and names its own exception from then on. Whether there is a version that is wanted, validation says.
        """
        name, given = props.get(CONNECTOR_CLASS), raw.get(CONNECTOR_CLASS)
        try:
            named_connector(self.catalog, raw if name is None else props)
        except Refused as refused:
            if name is None or self.catalog.problem(name):
                raise
            message = refused.message.replace(name, given) if name and given else refused.message
            if name in self._not_found:
                message = f"org.apache.kafka.connect.errors.ConnectException: {message}"
            elif len(self._not_found) < MAX_NOT_FOUND and len(name) <= MAX_NOT_FOUND_LENGTH:
                self._not_found.add(name)
            raise Refused(refused.status, message) from None


def _catalog(
    own: Iterable[PluginClass], java: Iterable[PluginClass], with_environments: Iterable[PluginClass]
) -> Catalog:
    from_jars = list(java)
    usable = [each for each in from_jars if not each.problem]
    hidden = {each.java_name for each in usable if any(kind in each.kinds for kind in CONNECTORS)}
    return Catalog([*(each for each in own if each.java_name not in hidden), *from_jars, *with_environments])


def _described(found: FoundPlugin) -> PluginClass | None:
    cls = found.cls
    if found.name.startswith("org.apache.kafka."):
        return PluginClass(found.name, _kinds(cls), KAFKA_VERSION, _config_def(cls), cls, found.location)
    try:
        version = str(cls.version() or "undefined")
    except Exception as error:
        log.error("Plugin %s is left out: its version() raised %r", found.name, error)
        return None
    native = cls.__module__.startswith("penstock.")
    return PluginClass(found.name, _kinds(cls), version, _config_def(cls), cls, found.location, native=native)


def _kinds(cls: type) -> tuple[Kind, ...]:
    return tuple(kind for kind, base in _BASES.items() if issubclass(cls, base))


def _config_def(cls: Any) -> Any:
    def config_def() -> ConfigDef:
        defined = cls.config_def()
        if not isinstance(defined, ConfigDef):
            raise ConnectError(f"{cls.__qualname__}.config_def() must return a ConfigDef, not {defined!r}")
        if not issubclass(cls, ShowsRuntimeSettings):
            return defined
        whole = common_config()
        for key in defined.keys.values():
            whole.add(key)
        return whole

    return config_def
