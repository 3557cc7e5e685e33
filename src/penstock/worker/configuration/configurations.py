"""Configurations of connectors on this worker: validated, their references resolved, checked against what is allowed.

All but ``class_name`` may block: plugins are asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.connector import Connector
from penstock.api.errors import ConfigError
from penstock.core.config.catalog import Catalog
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.restarts import RESTART_POLICY
from penstock.core.config.validation import WorkerRules
from penstock.core.model.limits import DEFAULT_RECORD_BYTES
from penstock.core.model.messages import PluginFailed, Refused
from penstock.core.model.settings import HerderSettings
from penstock.core.topic_creation.groups import check_topic_creation
from penstock.java.regex import compile_regex
from penstock.java.text import java_class_name
from penstock.kafka.offsets.topic import ensure_own_topic
from penstock.pipeline.trace import trace
from penstock.plugins import Plugins
from penstock.settings import ExactlyOnceSource, WorkerSettings
from penstock.settings.providers import ConfigTransformer
from penstock.settings.redaction import Redaction
from penstock.worker.configuration.permissions import WorkerPermissions
from penstock.worker.configuration.reloads import Reloads

log = logging.getLogger(__name__)

MAX_NAME_LENGTH = 500
"""Characters of a name in the log, which has up to 500 lines of one request with it."""


@dataclass(frozen=True, slots=True)
class Configurations:
    settings: WorkerSettings
    plugins: Plugins
    providers: ConfigTransformer
    redaction: Redaction
    permissions: WorkerPermissions
    rules: WorkerRules
    reloads: Reloads

    def validate(self, config: Mapping[str, str | None]) -> ConfigInfos:
        given = dict(config)
        resolved = self.providers.transform(given)
        try:
            return self.plugins.validate(resolved, self.rules, given)
        except PluginFailed as failed:
            own = Redaction()  # it may never become a connector: the worker need not remember its secrets
            own.learn(resolved, self.passwords(resolved))
            failure = own.clean(trace(failed.__cause__ or failed)).rstrip()
            log.error("Connector %s can't be validated\n%s", config.get("name"), failure)
            raise

    def accept(self, config: Mapping[str, str | None]) -> str | None:
        """Return why a configuration is refused, or None; log the settings without effect of one that is accepted."""
        infos = self.validate(config)
        if infos.message is None:
            name = (config.get("name") or "")[:MAX_NAME_LENGTH]
            for warning in infos.warnings:
                log.warning("Connector %s: %s", name, warning)
        return infos.message

    def resolve(self, config: Mapping[str, str], expires: Callable[[int], None] = lambda ttl: None) -> dict[str, str]:
        """Replace references to config providers; logs and traces hide their values from then on."""
        resolved = dict(self.providers.transform(dict(config), expires))
        self.redaction.learn(resolved, self.passwords(resolved))
        return resolved

    def resolve_to_start(self, name: str, config: Mapping[str, str]) -> dict[str, str]:
        """Resolve the configuration of a connector that starts here; it is restarted when values expire."""
        ttls: list[int] = []
        resolved = self.resolve(config, ttls.append)
        self.reloads.starts(name, config, min(ttls, default=None))
        return resolved

    def passwords(self, config: Mapping[str, str | None]) -> frozenset[str]:
        return self.permissions.passwords(self.plugins.catalog, config)

    def new_connector(self, config: Mapping[str, str]) -> Connector:
        self.permissions.check_class(self.plugins.catalog, config)
        return self.plugins.connector(config)()

    def check(self, config: Mapping[str, str]) -> None:
        self.permissions.check(self.plugins.catalog, config)

    def check_connector(self, connector: Connector, config: Mapping[str, str]) -> None:
        """Check permissions, and what Java checks when a source connector starts although it accepted the
        configuration.
        """
        self.check(config)
        if self.plugins.kind(config) == "source":
            self.check_overrides(config)
            if self.settings.topic_creation:
                check_topic_creation(config, compile_regex)

    def check_task(self, catalog: Catalog, config: Mapping[str, str]) -> None:
        self.permissions.check(catalog, config)
        self.permissions.check_overrides(catalog, config)

    def check_overrides(self, config: Mapping[str, str], clients: Collection[str] | None = None) -> None:
        self.permissions.check_overrides(self.plugins.catalog, config, clients)

    def check_plugin(self, name: str) -> None:
        self.permissions.check_plugin(self.plugins.catalog, name)

    def prepare(self, config: Mapping[str, str]) -> None:
        """Create or check what a source connector needs before it starts: its own offsets topic, if it has one."""
        if self.plugins.kind(config) == "source":
            ensure_own_topic(self.settings.config, config)

    def class_name(self, config: Mapping[str, str]) -> str:
        """Return the full name of the connector's class, or the configured alias if the class is not installed."""
        try:
            return java_class_name(self.plugins.connector(config))
        except Refused:
            return config.get("connector.class", "")


def check_converters(settings: WorkerSettings, catalog: Catalog) -> None:
    """Check the worker's converters. Raises ConfigError for a class that is not a converter."""
    for name, kind in CONVERTERS.items():
        converter = str(settings.values[name])
        found = catalog.load(converter.strip())
        if found is None or kind not in found.kinds:
            problem = catalog.problem(converter.strip())
            raise ConfigError(name, converter, problem or catalog.not_found(converter, kind))


def herder_settings(s: WorkerSettings, worker_id: str) -> HerderSettings:
    keys: dict[str, Any] = {}
    if s.group is not None:
        keys = {
            "sync_timeout_ms": s.group.sync_timeout_ms,
            "unsync_backoff_ms": s.group.unsync_backoff_ms,
            "max_delay_ms": s.group.scheduled_rebalance_max_delay_ms,
            "max_group_bytes": s.group.max_bytes,
        }
    if s.session_keys is not None:
        keys |= {
            "key_ttl_ms": s.session_keys.ttl_ms,
            "key_algorithm": s.session_keys.algorithm,
            "key_size": s.session_keys.size,
            "signature_algorithm": s.session_keys.signature_algorithm,
            "verification_algorithms": s.session_keys.verification_algorithms,
        }
    return HerderSettings(
        worker_id=worker_id,
        topic_tracking=s.topic_tracking,
        allow_topics_reset=s.topic_tracking_reset,
        exactly_once=s.exactly_once is ExactlyOnceSource.ENABLED,
        fenced_writes=s.exactly_once is not ExactlyOnceSource.DISABLED,
        distributed=s.distributed,
        restart_policy=s.values[RESTART_POLICY],
        health_of_tasks=s.values["penstock.health.tasks"],
        max_record_bytes=max_record_bytes(s),
        **keys,
    )


def max_record_bytes(s: WorkerSettings) -> int:
    """Return ``max.request.size`` of the worker's producers. A value that is no number fails when they are made.

    A standalone worker keeps configurations in memory, so all fit.
    """
    if not s.distributed:
        return 2**31 - 1
    try:
        return int(s.config.get("max.request.size", DEFAULT_RECORD_BYTES))
    except ValueError:
        return DEFAULT_RECORD_BYTES


def worker_rules(s: WorkerSettings, plugins: Plugins, permissions: WorkerPermissions) -> WorkerRules:
    """Return the rules of the validation. Raises ConfigError for an override policy that can't be used."""
    return WorkerRules(
        group_id=s.group.group_id if s.group else None,
        exactly_once=s.exactly_once is ExactlyOnceSource.ENABLED,
        converters=s.converters,
        policy=plugins.override_policy(s.override_policy, dict(s.config)),
        compile=compile_regex,
        strict=s.values["penstock.config.strict"],
        restart_policy=s.values[RESTART_POLICY],
        forbidden=permissions.problems,
    )
