"""Validation of a connector's configuration: all checks that need no Kafka.

Java: ``AbstractHerder.validateConnectorConfig`` and what ``DistributedHerder`` adds to it; the order of checks and of
answers is theirs. The only foreign code called here are methods of the connector, which may block: call this on a
thread.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from penstock.api.config import ConfigDef, ConfigKeyInfo, ConfigValue, with_prefix
from penstock.api.connector import Connector
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.returned import validated
from penstock.core.config.catalog import CONNECTORS, LISTED, Catalog, Kind, PluginClass, asking, is_bad_request
from penstock.core.config.connector import CONNECTOR_CLASS, CONNECTOR_VERSION, NAME
from penstock.core.config.converter import CONVERTERS, converter_defaults
from penstock.core.config.enrichment import enrich
from penstock.core.config.infos import ConfigInfos, connector_infos, prefixed_infos
from penstock.core.config.overrides import (
    ALL,
    CLIENT_SETTINGS,
    CONSUMER,
    OverridePolicy,
    is_built_in,
    validate_overrides,
)
from penstock.core.config.permissions.clients import clients_of
from penstock.core.config.runtime_settings import (
    check_settings,
    deprecated_settings,
    optional_settings,
    runtime_config,
    without_effect,
)
from penstock.core.config.secrets import masked
from penstock.core.config.setting import Props, SettingContext
from penstock.core.config.sink import check_topics
from penstock.core.config.source import check_source, check_source_dead_letters
from penstock.core.config.unknown.keys import Defined, unknown_keys
from penstock.core.config.versions import VersionRange
from penstock.core.model.messages import Refused
from penstock.core.model.settings import RestartPolicyName
from penstock.core.topic_creation.rules import Compile
from penstock.java.hash_map import copy_order, hash_order
from penstock.java.text import java_text

log = logging.getLogger(__name__)

_REFERENCE = re.compile(r"\$\{[^{}]*\}")
"""One reference to a config provider, which is no secret."""

NULL_VALUE = "Null value can not be supplied as the configuration value."


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """Facts about a worker that validation depends on.

    ``group_id`` is None in standalone mode, where exactly once and groups of sinks are not checked.

    ``converters`` has the worker's settings of ``key.converter``, ``value.converter``, ``header.converter`` and their
    ``.plugin.version``.
    """

    group_id: str | None = None
    exactly_once: bool = False
    converters: Mapping[str, str | None] = field(default_factory=dict)
    policy: OverridePolicy = ALL
    compile: Compile = re.compile
    strict: bool = False
    """``penstock.config.strict``: settings that have no effect are errors."""
    restart_policy: RestartPolicyName = "never"
    """``penstock.restart.policy`` of connectors that have none of their own."""
    forbidden: Callable[[Catalog, Props], list[tuple[str, str]]] = lambda catalog, props: []
    """Returns what the worker does not allow in a configuration: settings and sentences.

    Nothing else of the configuration is then checked.
    """


def connector_class(catalog: Catalog, props: Props) -> PluginClass:
    """Return the class that a configuration names, in the version that it wants.

    Raises Refused if it names none, or one that does not exist.
    """
    name = named_connector(catalog, props).java_name
    try:
        found = catalog.choose(name, props.get(CONNECTOR_VERSION))
    except ConfigError as error:
        raise Refused(400, str(error)) from error
    assert found is not None
    return found


def named_connector(catalog: Catalog, props: Props) -> PluginClass:
    """Return the class that a configuration names, whatever its version. Raises Refused as ``connector_class`` does."""
    name = props.get(CONNECTOR_CLASS)
    if name is None:
        hidden = masked(props)
        config = {key: value if _REFERENCE.fullmatch(value or "") else hidden[key] for key, value in props.items()}
        shown = ", ".join(f"{key}={java_text(config[key])}" for key in copy_order(props))
        raise Refused(400, f"Connector config {{{shown}}} contains no connector type")
    try:
        return catalog.connector(name)
    except ConnectError as error:
        raise Refused(400, str(error)) from error


def plugin_config(catalog: Catalog, name: str, version: str | None = None) -> list[ConfigKeyInfo] | None:
    """Return the body of ``GET /connector-plugins/{name}/config``; None if there is no such plugin.

    Raises ConfigError if there is none of this version, and PluginFailed.
    """
    found = catalog.choose(name, version)
    if found is None and not is_built_in(name):
        return None
    if found is None or not any(kind in found.kinds for kind in LISTED):
        valid = "Valid types are sink, source, converter, header_converter, transformation, predicate."
        raise Refused(400, f"Invalid plugin class {name}. {valid}")
    with asking():
        keys = dict(found.config_def().keys)
    if any(kind in found.kinds for kind in CONNECTORS):
        newest = catalog.load(name)
        context = SettingContext(version=newest.version if newest else found.version)
        for key in runtime_config(_kind(found), context=context).keys.values():
            keys.setdefault(key.name, key)
    return [key.info() for key in keys.values()]


def validate_connector(
    catalog: Catalog,
    props: Props,
    make: Callable[[], Connector],
    worker: WorkerRules,
    raw: Props | None = None,
    by_connector: bool = True,
) -> ConfigInfos:
    """Validate a configuration.

    ``props`` has references to config providers resolved; with ``raw`` the values are shown as the user gave them.
    ``make`` creates an object of the class that ``connector_class`` finds, which is never started; it is not called for
    a configuration that the worker does not allow. Raises Refused, and PluginFailed for whatever the connector's own
    code raises. ``by_connector``: whether the connector's own ``validate`` is called.
    """
    newest = named_connector(catalog, props)
    name = props[CONNECTOR_CLASS] or ""
    try:
        VersionRange.parse(props.get(CONNECTOR_VERSION))
    except ConfigError as error:
        raise Refused(400, str(error)) from error
    try:
        found = catalog.choose(newest.java_name, props.get(CONNECTOR_VERSION)) or newest
    except ConfigError as error:
        problems = [(CONNECTOR_CLASS, str(error)), (CONNECTOR_VERSION, str(error))]
        return _not_usable(catalog, props, name, newest, problems)
    if forbidden := worker.forbidden(catalog, props):
        # The message of a request that is refused has these sentences without their settings.
        named = [(key, sentence if sentence.startswith(key) else f"{key}: {sentence}") for key, sentence in forbidden]
        infos = _not_usable(catalog, props, name, newest, named)
        return infos if raw is None else infos.as_given(props, raw)
    with asking():
        connector = make()
    near = found.location
    kind = _kind(found)
    source = kind is Kind.SOURCE
    context = _context(catalog, props, newest.version, worker, near)
    config = enrich(runtime_config(kind, context=context, given=props), catalog, props, near)
    with asking():
        values = config.validate_all(props, catalog.load_named)
    if source:
        exactly_once = None if worker.group_id is None else worker.exactly_once
        check_source(props, values, connector, exactly_once, worker.compile)
    else:
        check_topics(props, values, worker.compile)
        _check_group(props, values, worker)
    check_source_dead_letters(props, values, source)
    check_settings(props, raw, values, connector, kind)
    _check_nulls(props, values)
    converters = [_converter_infos(catalog, props, values, key, near) for key in ("header", "key", "value")]
    with asking():
        own = found.config_def()
    clients = _clients(name, props, source, worker)
    defined = _defined(props, config, own, connector.setting_prefixes, clients, kind, context, worker)
    unknown = unknown_keys(raw or props, defined, catalog)
    refused = {key: each.sentence for key, each in unknown.items() if worker.strict and each.certain}
    for key, problem in refused.items():
        values.setdefault(key, ConfigValue(key, props[key])).add_error(problem)
    with asking():
        shown = cast(Mapping[str, str], _without_providers(props))  # nulls included, as in Java
        own_values = validated(connector.validate(shown)) if by_connector else []
    infos = connector_infos(
        name,
        {**config.keys, **own.keys},
        [*(values[key] for key in hash_order(values)), *own_values],
        dict.fromkeys([*config.groups, *own.groups]),
    )
    overrides = [validate_overrides(worker.policy, props, each, CLIENT_SETTINGS[each], source) for each in clients]
    warnings = tuple(each.sentence for key, each in unknown.items() if key not in refused)
    infos = replace(infos.plus([*overrides, *converters]), warnings=warnings)
    return infos if raw is None else infos.as_given(props, raw)


def ignored_settings(
    catalog: Catalog, props: Props, prefixes: tuple[str, ...], worker: WorkerRules, raw: Props
) -> list[str]:
    """Return the settings that certainly have no effect, in the order in which they were given.

    ``prefixes``: ``Connector.setting_prefixes`` of the class. No object of it is made. Raises Refused, ConfigError, and
    what plugins raise when they are asked for their settings.
    """
    newest, found = named_connector(catalog, props), connector_class(catalog, props)
    kind, near = _kind(found), found.location
    context = _context(catalog, props, newest.version, worker, near)
    config = enrich(runtime_config(kind, context=context, given=props), catalog, props, near)
    clients = _clients(props[CONNECTOR_CLASS] or "", props, kind is Kind.SOURCE, worker)
    defined = _defined(props, config, found.config_def(), prefixes, clients, kind, context, worker)
    unknown = unknown_keys(raw, defined, catalog)
    return [name for name, each in unknown.items() if each.certain and name not in defined.deprecated]


def _context(catalog: Catalog, props: Props, version: str, worker: WorkerRules, near: str) -> SettingContext:
    return SettingContext(
        version=version,
        converters=converter_defaults(catalog, props, worker.converters, near),
        catalog=catalog,
        compile=worker.compile,
        restart_policy=worker.restart_policy,
    )


def _clients(name: str, props: Props, source: bool, worker: WorkerRules) -> Sequence[str]:
    return clients_of(name, props, source, exactly_once=worker.exactly_once, distributed=worker.group_id is not None)


def _defined(
    props: Props,
    config: ConfigDef,
    own: ConfigDef,
    prefixes: tuple[str, ...],
    clients: Sequence[str],
    kind: Kind,
    context: SettingContext,
    worker: WorkerRules,
) -> Defined:
    return Defined(
        config,
        own,
        prefixes,
        clients,
        exactly_once=kind is Kind.SOURCE and worker.exactly_once,
        optional=optional_settings(kind),
        without_effect=without_effect(props, kind, context),
        deprecated=deprecated_settings(),
    )


def _without_providers(props: Props) -> Props:
    """Return a configuration without config providers of its own, which Java's ``AbstractConfig`` would make and ask.

    Anybody who may validate a configuration could read files by them. Java 4.4:
    ``AbstractHerder.removeCustomConfigProviders``.
    """
    named = "config.providers"
    return {key: value for key, value in props.items() if key != named and not key.startswith(f"{named}.")}


def _converter_infos(
    catalog: Catalog, props: Props, values: Mapping[str, ConfigValue], use: str, near: str
) -> ConfigInfos | None:
    """Validate the converter's own settings, if the connector names a converter without errors so far."""
    key, version_key = f"{use}.converter", f"{use}.converter.plugin.version"
    chosen, version = values[key], values[version_key]
    named = props.get(key)
    if named is None or chosen.errors or version.errors:
        return None
    try:
        found = catalog.choose(named, props.get(version_key), near)
    except ConfigError as error:
        chosen.add_error(str(error))
        version.add_error(str(error))
        return None
    if found is None:  # only blanks around the name can have hidden that from the definitions
        chosen.add_error(f"Failed to load class {named}: {named}")
        return None
    try:
        config = found.config_def()
    except Exception as error:
        if is_bad_request(error):  # from a jar; it has returned null
            log.warning("%s; no further validation of its configuration is performed", error)
        else:
            chosen.add_error(f"Failed to load ConfigDef from {use} converter: {error}")
        return None
    prefix = f"{key}."
    own = with_prefix(props, prefix)
    try:
        return prefixed_infos(config.keys, config.validate({"converter.type": use, **own}, catalog.load), prefix)
    except TimeoutError:
        raise
    except Exception as error:
        why = f": {error}" if str(error) else ""
        chosen.add_error(f"Failed to perform config validation for {use} converter{why}")
        return None


def _kind(found: PluginClass) -> Kind:
    return Kind.SOURCE if Kind.SOURCE in found.kinds else Kind.SINK


def _not_usable(
    catalog: Catalog, props: Props, name: str, found: PluginClass, problems: list[tuple[str, str]]
) -> ConfigInfos:
    """Validate only the settings that every connector has, and add these problems.

    For a connector of another version, or a configuration that is not allowed.
    """
    config = runtime_config(*CONNECTORS, context=SettingContext(version=found.version, catalog=catalog))
    values = config.validate_all(props, catalog.load_named)
    for key in CONVERTERS:
        values[key].recommended_values = []
        values[f"{key}.plugin.version"].recommended_values = []
    values[CONNECTOR_VERSION].recommended_values = [*catalog.available(found.java_name)]
    for key, problem in problems:
        values.setdefault(key, ConfigValue(key, props.get(key))).add_error(problem)
    _check_nulls(props, values)
    return connector_infos(name, config.keys, (values[key] for key in hash_order(values)), config.groups)


def _check_nulls(props: Props, values: dict[str, ConfigValue]) -> None:
    for key in copy_order(props):
        if props[key] is None:
            values.setdefault(key, ConfigValue(key)).add_error(NULL_VALUE)


def _check_group(props: Props, values: dict[str, ConfigValue], worker: WorkerRules) -> None:
    """Add errors for a sink whose consumers would join the group of the workers."""
    if worker.group_id is None:
        return
    key = f"{CONSUMER}group.id"
    if key in props:
        own = values.setdefault(key, ConfigValue(key, props[key]))
        if (props[key] or "").strip() == worker.group_id:
            own.add_error(f"Consumer group {props[key]} conflicts with Connect worker group {worker.group_id}")
    elif worker.group_id == f"connect-{values[NAME].value}":
        named = f"Consumer group for sink connector named {values[NAME].value}"
        values[NAME].add_error(f"{named} conflicts with Connect worker group {worker.group_id}")
