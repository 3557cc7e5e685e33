"""Which Kafka clients a connector has, whose settings its configuration may override.

Java: ``AbstractHerder.connectorUsesProducer`` and its like, and what the builders of tasks in ``Worker`` make.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.api.config import ConfigDef
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.core.config.overrides import ADMIN, CONSUMER, PRODUCER, OverridePolicy, check_overrides
from penstock.core.config.permissions.rules import JDBC_SINK, SPARK_SINK
from penstock.core.config.sink import DLQ_TOPIC
from penstock.core.config.source import OFFSETS_TOPIC, has_dead_letters
from penstock.core.topic_creation.groups import uses_topic_creation

Props = Mapping[str, str | None]

SETTINGS: Mapping[str, ConfigDef] = {
    PRODUCER: PRODUCER_SETTINGS,
    CONSUMER: CONSUMER_SETTINGS,
    ADMIN: ADMIN_SETTINGS,
}
"""What a client can be given, by the prefix of its overrides."""


def clients_of(connector: str, props: Props, source: bool, *, exactly_once: bool, distributed: bool) -> list[str]:
    """The prefixes of the overrides of its clients. ``connector`` is Java's name of its class."""
    queue = has_dead_letters(props) if source else bool((props.get(DLQ_TOPIC) or "").strip())
    own_offsets = source and distributed and (exactly_once or bool((props.get(OFFSETS_TOPIC) or "").strip()))
    clients = []
    if source or queue or connector in (SPARK_SINK, JDBC_SINK):  # they have transactional ids
        clients.append(PRODUCER)
    if not source or own_offsets:
        clients.append(CONSUMER)
    if own_offsets or queue or (source and uses_topic_creation(props)):
        clients.append(ADMIN)
    return clients


def check_clients(policy: OverridePolicy, props: Props, clients: Collection[str], source: bool) -> None:
    """Raises ConnectError for overrides of these clients that the policy does not allow. May call a plugin."""
    for prefix in clients:
        check_overrides(policy, props, prefix, SETTINGS[prefix], source)
