"""Settings of Connect's clients, as Java's settings: Connect's own, then the worker's, then the connector's.

Connectors' clients take ``producer.``, ``consumer.`` and ``admin.`` settings of the worker and the overrides of the
connector, in this order; the worker's own clients take the worker's settings without a prefix. Java:
``Worker.baseProducerConfigs``, ``baseConsumerConfigs``, ``adminConfigs``, ``exactlyOnceSourceTaskProducerConfigs``, and
the three ``Kafka…BackingStore``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from penstock.api.config import with_prefix
from penstock.api.config_types import ConfigType, parse_type
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS

log = logging.getLogger(__name__)

Settings = Mapping[str, str]

SHARING_MS = "500"
"""``heartbeat.interval.ms`` where a connector has several tasks. A member hears by a heartbeat that another one wants
its share of the partitions; with Java's 3000 a task that starts a moment after the others waits so long for it.
"""
MAX_POLL_RECORDS = "max.poll.records"
_INT_MAX = str(2**31 - 1)
_IN_FLIGHT = ("1", "2", "3", "4", "5")
"""Requests that an idempotent producer may have in flight, the last being Java's default: the order is kept."""
_INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_PREFIXES = ("producer.", "consumer.", "admin.")


def bootstrap_servers(worker: Settings) -> str:
    return worker.get("bootstrap.servers", "localhost:9092")


def connector_producer(worker: Settings, connector: Settings, client_id: str) -> dict[str, str]:
    """The settings of the producer of a connector's task."""
    return {
        "bootstrap.servers": bootstrap_servers(worker),
        "enable.idempotence": "false",
        "acks": "all",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": _INT_MAX,
        "client.id": client_id,
        **with_prefix(worker, "producer."),
        **with_prefix(connector, "producer.override."),
    }


def idempotence(worker: Settings, connector: Settings) -> dict[str, str]:
    """Overrides that make a connector's producer idempotent; none where the user's own settings contradict.

    Java's producers are idempotent by default, and Connect's are not, for the sake of old brokers.
    """
    given = {**with_prefix(worker, "producer."), **with_prefix(connector, "producer.override.")}
    in_flight = given.get("max.in.flight.requests.per.connection", _IN_FLIGHT[-1])
    agrees = (
        "enable.idempotence" not in given
        and given.get("acks", "all").strip() in ("all", "-1")
        and given.get("retries", "").strip() != "0"
        and in_flight.strip() in _IN_FLIGHT
    )
    wanted = {"enable.idempotence": "true", "max.in.flight.requests.per.connection": in_flight}
    return {f"producer.override.{name}": value for name, value in wanted.items()} if agrees else {}


def transactional_producer(worker: Settings, connector: Settings, client_id: str, id: str) -> dict[str, str]:
    """The settings of the producer of a task with exactly once (KIP-618)."""
    given = {**with_prefix(worker, "producer."), **with_prefix(connector, "producer.override.")}
    settings = connector_producer(worker, connector, client_id)
    for name in ("enable.idempotence", "max.in.flight.requests.per.connection"):
        if name not in given:
            # Connect's own values are for producers without idempotence, which keeps the order by itself.
            del settings[name]
    why = "for connectors when exactly-once source support is enabled"
    ensure(settings, "enable.idempotence", "true", why)
    ensure(settings, "transactional.id", id, why)
    return settings


def connector_consumer(
    worker: Settings, connector: Settings, client_id: str, group_id: str | None = None
) -> dict[str, str]:
    """The settings of a connector's consumer. Its group is ``connect-<name>`` unless overridden, or ``group_id``."""
    alone = connector.get("tasks.max", "1").strip() == "1"
    return {
        **({} if alone else {"heartbeat.interval.ms": SHARING_MS}),
        "group.id": group_id or f"connect-{connector.get('name', '')}",
        "client.id": client_id,
        "bootstrap.servers": bootstrap_servers(worker),
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        **with_prefix(worker, "consumer."),
        **with_prefix(connector, "consumer.override."),
    }


def connector_admin(worker: Settings, connector: Settings, client_id: str) -> dict[str, str]:
    """The settings of a connector's admin client; here the worker's settings without a prefix count as well."""
    return {
        "bootstrap.servers": bootstrap_servers(worker),
        "client.id": client_id,
        **_known(worker, "admin"),
        **with_prefix(worker, "admin."),
        **with_prefix(connector, "admin.override."),
    }


def internal(worker: Settings, client: str, client_id: str) -> dict[str, str]:
    """The settings of one of the worker's own clients, a ``producer``, ``consumer`` or ``admin``."""
    own = {"bootstrap.servers": bootstrap_servers(worker), **_known(worker, client), "client.id": client_id}
    match client:
        case "producer":
            own |= {"acks": "all", "max.in.flight.requests.per.connection": "1", "delivery.timeout.ms": _INT_MAX}
            own["enable.idempotence"] = "false"
        case "consumer":
            own |= {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
            own.setdefault("group.id", client_id)
    return own


def reads_committed(consumer: Settings) -> bool:
    """Whether such a consumer leaves out the records of transactions that are open or were aborted."""
    return consumer.get("isolation.level", "").strip() == "read_committed"


def own_client_id(worker: Settings, use: str) -> str:
    """The name of the worker's clients of one use, such as ``configs``: the group, the worker's ``client.id``, the use.

    Java: ``ConnectUtils.clientIdBase``.
    """
    name = worker.get("client.id") or ""
    return "-".join([worker.get("group.id", "connect"), *([name] if name.strip() else []), use])


def consumer_group(worker: Settings, connector: Settings) -> str:
    """The group in which a sink connector commits its offsets."""
    return connector_consumer(worker, connector, "")["group.id"]


def max_poll_records(worker: Settings, connector: Settings) -> int | None:
    """``max.poll.records`` of a sink task; None if it is not set."""
    given = connector_consumer(worker, connector, "").get(MAX_POLL_RECORDS)
    return None if given is None else int(parse_type(MAX_POLL_RECORDS, given, ConfigType.INT))


def unmatched_topics(consumer: Settings) -> frozenset[str]:
    """The topics that no ``topics.regex`` matches: Kafka's own, unless ``exclude.internal.topics`` is false."""
    excluded = consumer.get("exclude.internal.topics", "true").strip().lower() != "false"
    return _INTERNAL_TOPICS if excluded else frozenset()


def ensure(settings: dict[str, str], name: str, value: str, why: str) -> None:
    """Set a value that is required, with a warning if the user wants another."""
    given = settings.get(name, value)
    if given.lower() != value.lower():
        log.warning(
            "The value '%s' for the '%s' property will be ignored as it cannot be overridden %s. "
            "The value '%s' will be used instead.",
            given,
            name,
            why,
            value,
        )
    settings[name] = value


_DEFINITIONS = {"producer": PRODUCER_SETTINGS, "consumer": CONSUMER_SETTINGS, "admin": ADMIN_SETTINGS}


def _known(worker: Settings, client: str) -> dict[str, str]:
    """Return those of the worker's own settings that such a client knows; most others are Connect's."""
    known = _DEFINITIONS[client].keys
    return {name: value for name, value in worker.items() if name in known and not name.startswith(_PREFIXES)}
