"""Input of the herder besides events: settings of the worker, and facts about plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.core.model.limits import DEFAULT_RECORD_BYTES, MAX_GROUP_BYTES

RestartPolicyName = Literal["never", "on-failure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HerderSettings:
    """Settings of the worker that the herder follows; times in milliseconds."""

    worker_id: str
    topic_tracking: bool = True
    allow_topics_reset: bool = True
    exactly_once: bool = False
    """``exactly.once.source.support`` is ``enabled``."""
    fenced_writes: bool = False
    """``exactly.once.source.support`` is ``enabled`` or ``preparing``: only a leader that has claimed the config topic
    can write there.
    """
    distributed: bool = True
    sync_timeout_ms: int = 3_000
    unsync_backoff_ms: int = 300_000
    max_delay_ms: int = 300_000
    """``scheduled.rebalance.max.delay.ms``."""
    restart_policy: RestartPolicyName = "never"
    """``penstock.restart.policy`` of connectors that have none of their own."""
    health_of_tasks: bool = False
    """``penstock.health.tasks``: a worker with a failed or stalled task is not healthy."""
    rebalance_wait_ms: int = 10_000
    """Time that a request waits for a rebalance to end before it is answered 409."""
    request_timeout_ms: int = 90_000
    key_ttl_ms: int = 3_600_000
    key_algorithm: str = "HmacSHA256"
    key_size: int | None = None
    signature_algorithm: str = "HmacSHA256"
    verification_algorithms: tuple[str, ...] = ("HmacSHA256",)
    max_group_bytes: int = MAX_GROUP_BYTES
    """``penstock.group.max.bytes``."""
    max_record_bytes: int = DEFAULT_RECORD_BYTES
    """``max.request.size``, which holds for records of the internal topics."""


class PluginFacts(Protocol):
    """Facts about the classes that configurations name."""

    def kind(self, config: Mapping[str, str] | None) -> str:
        """Return ``source``, ``sink``, or ``unknown`` for a class that is not installed."""

    def version(self, config: Mapping[str, str]) -> str | None:
        """Return the version for the status of the connector and its tasks; None for none."""


class NoPlugins:
    """Facts where no class is installed."""

    def kind(self, config: Mapping[str, str] | None) -> str:
        return "unknown"

    def version(self, config: Mapping[str, str]) -> str | None:
        return None
