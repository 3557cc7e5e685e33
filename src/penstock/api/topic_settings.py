"""The settings of a topic that is about to be created for a source connector (KIP-158).

The runtime fills one in from the connector's rules and gives it to ``SourceTask.settings_for_new_topic``, which may
change or veto it. Getters are attributes of Kafka's names; setters return the object, so that they can be chained as
in the document.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Self

BROKER_DEFAULT = -1


class CleanupPolicy(enum.Enum):
    """Values of ``cleanup.policy``."""

    COMPACT = "compact"
    DELETE = "delete"
    COMPACT_AND_DELETE = "compact,delete"


class TopicSettings:
    """Partitions and replication factor of -1, and settings that are not set, are the broker's own defaults."""

    def __init__(
        self,
        name: str,
        partitions: int = BROKER_DEFAULT,
        replication_factor: int = BROKER_DEFAULT,
        configs: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = name
        self._partitions = partitions
        self._replication_factor = replication_factor
        self._configs: dict[str, Any] = dict(configs or {})

    # -- what is set

    @property
    def name(self) -> str:
        """The name of the topic."""
        return self._name

    @property
    def partitions(self) -> int:
        """The number of partitions; -1: the broker's default."""
        return self._partitions

    @property
    def replication_factor(self) -> int:
        """The replication factor; -1: the broker's default."""
        return self._replication_factor

    @property
    def cleanup_policy(self) -> CleanupPolicy | None:
        """``cleanup.policy``; None if it is not set. Raises ValueError if it is none of Kafka's."""
        value = self._configs.get("cleanup.policy")
        if value is None:
            return None
        return CleanupPolicy(",".join(sorted(part.strip() for part in str(value).split(","))))

    @property
    def min_in_sync_replicas(self) -> int | None:
        """``min.insync.replicas``; None if it is not set."""
        value = self._configs.get("min.insync.replicas")
        return None if value is None else int(value)

    @property
    def unclean_leader_election(self) -> bool | None:
        """``unclean.leader.election.enable``; None if it is not set."""
        value = self._configs.get("unclean.leader.election.enable")
        return None if value is None else str(value).lower() == "true"

    def config(self, name: str) -> Any:
        """Return the value of one topic setting; None if it is not set."""
        return self._configs.get(name)

    @property
    def configs(self) -> dict[str, Any]:
        """All topic settings that are set; a copy."""
        return dict(self._configs)

    # -- setting it

    def with_partitions(self, count: int) -> Self:
        """Set the number of partitions; raises ValueError if it is not positive."""
        self._partitions = _positive("partitions", count)
        return self

    def with_replication_factor(self, factor: int) -> Self:
        """Set the replication factor; raises ValueError if it is not positive."""
        self._replication_factor = _positive("replication factor", factor)
        return self

    def with_cleanup_policy(self, policy: CleanupPolicy) -> Self:
        """Set ``cleanup.policy``."""
        return self.with_config("cleanup.policy", CleanupPolicy(policy).value)

    def with_min_in_sync_replicas(self, count: int) -> Self:
        """Set ``min.insync.replicas``; raises ValueError if it is not positive."""
        return self.with_config("min.insync.replicas", str(_positive("min in-sync replicas", count)))

    def with_unclean_leader_election(self, allow: bool) -> Self:
        """Set ``unclean.leader.election.enable``."""
        return self.with_config("unclean.leader.election.enable", "true" if allow else "false")

    def with_config(self, name: str, value: Any) -> Self:
        """Set one topic setting; None removes it."""
        if value is None:
            self._configs.pop(name, None)
        else:
            self._configs[name] = value
        return self

    def with_configs(self, configs: Mapping[str, Any] | None) -> Self:
        """Replace all topic settings, also those set by the methods above; None clears them."""
        self._configs = dict(configs or {})
        return self


def _positive(what: str, value: int) -> int:
    if value <= 0:
        raise ValueError(f"{what} must be positive, not {value}")
    return value
