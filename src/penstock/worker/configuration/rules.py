"""A worker's settings as its herder and the validation of configurations take them."""

from __future__ import annotations

from typing import Any

from penstock.core.config.restarts import RESTART_POLICY
from penstock.core.config.validation import WorkerRules
from penstock.core.model.settings import HerderSettings
from penstock.java.regex import compile_regex
from penstock.plugins import Plugins
from penstock.settings import ExactlyOnceSource, WorkerSettings
from penstock.worker.configuration.permissions import WorkerPermissions


def herder_settings(s: WorkerSettings, worker_id: str) -> HerderSettings:
    keys: dict[str, Any] = {}
    if s.group is not None:
        keys = {
            "sync_timeout_ms": s.group.sync_timeout_ms,
            "unsync_backoff_ms": s.group.unsync_backoff_ms,
            "max_delay_ms": s.group.scheduled_rebalance_max_delay_ms,
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
        **keys,
    )


def worker_rules(s: WorkerSettings, plugins: Plugins, permissions: WorkerPermissions) -> WorkerRules:
    """Raises ConfigError for an override policy that can't be used."""
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
