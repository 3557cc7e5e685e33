"""Producers, consumers and admin clients: the one place where they are made.

Settings come as Java's (``client_settings``) and become librdkafka's (``librdkafka_config``, ``security.clients``). The
tables below name every default that is Java's instead of librdkafka's, and the values that were measured to be fast:
one of these decides whether a task moves two hundred thousand or a million records a second.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConfigError, ConnectError, KafkaError
from penstock.core.config.clients import ADMIN_SETTINGS, CONSUMER_SETTINGS, PRODUCER_SETTINGS
from penstock.kafka.client_log import RepeatedFailures
from penstock.kafka.client_settings import Settings, connector_admin
from penstock.kafka.librdkafka_config import (
    ADMIN,
    CONSUMER,
    MAX_PROPAGATION_MS,
    PRODUCER,
    address,
    defaults,
    translate,
)
from penstock.kafka.security.clients import chain_in_file, for_librdkafka
from penstock.kafka.security.settings import SECURITY
from penstock.kafka.security.tickets import log_in

# librdkafka's log lines go to the worker's log, whenever the client is polled.
client_log = logging.getLogger("penstock.kafka.librdkafka")
client_log.addFilter(RepeatedFailures())

_COMMON: dict[str, Any] = {
    "enable.metrics.push": False,
    "log.connection.close": False,  # brokers close idle connections
    # Java has 50, and doubles it. Here it does not grow while all brokers are away: each new attempt is made as if it
    # were the first (`metadata.recovery.strategy`). That is 8 connections a second, with 50 it is 35, for each client.
    "reconnect.backoff.ms": 250,
}
# Settings whose default is Java's, since librdkafka's is another.
_LIKE_JAVA = (
    "metadata.max.age.ms",
    "metadata.recovery.strategy",  # without it a client never finds a cluster again that once had no broker alive
    "reconnect.backoff.max.ms",
    "request.timeout.ms",
)
_PRODUCER_LIKE_JAVA = (*_LIKE_JAVA, "connections.max.idle.ms", "linger.ms", "max.request.size", "delivery.timeout.ms")
_CONSUMER_LIKE_JAVA = (
    *_LIKE_JAVA,
    "connections.max.idle.ms",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "check.crcs",
    "isolation.level",
    "partition.assignment.strategy",
)

PRODUCER_DEFAULTS: dict[str, Any] = {
    **defaults(_PRODUCER_LIKE_JAVA, PRODUCER_SETTINGS, PRODUCER),
    **_COMMON,
    # A transactional producer's first connection to its coordinator takes about half of it.
    "reconnect.backoff.ms": 100,
    # Connect's producers wait for a topic that is missing as long as it takes.
    "topic.metadata.propagation.max.ms": MAX_PROPAGATION_MS,
    "partitioner": "murmur2_random",  # Java's; librdkafka's own sends the same key to another partition
    # For speed, and so beyond Java's 16 KiB and 32 MiB. `flush` and `commit_transaction` don't wait for linger.ms.
    "batch.num.messages": 100_000,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 0,
    "queue.buffering.max.kbytes": 131_072,
}

CONSUMER_DEFAULTS: dict[str, Any] = {
    **defaults(_CONSUMER_LIKE_JAVA, CONSUMER_SETTINGS, CONSUMER),
    **_COMMON,
    "enable.auto.offset.store": False,
    # Milliseconds until a full queue is checked again; with the default of 1000 consumption falls to a fifth.
    "fetch.queue.backoff.ms": 5,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
}

AT_GROUPS = {"metadata.recovery.strategy": "none"}
"""Defaults for clients that ask the coordinators of groups more than once: admin clients, and producers that commit
offsets of groups in their transactions.

librdkafka 2.16 remembers a group's coordinator. When it is connected to no broker any more it gives up all that it
knows (``rebootstrap``), and from then on it waits for that coordinator, although the same broker is there again: a
producer without end, an admin client in each request until its time is over. It does the same, with these defaults
too, after an answer that names other brokers, but not that one.
"""

HANGS_SECONDS = 5.0
"""Seconds past its timeout after which a call that sends the offsets of a group in a transaction is abandoned:
librdkafka may never return from it, see ``AT_GROUPS``.
"""

SILENT = 2
"""``log_level`` of clients whose users log its errors themselves."""

ADMIN_DEFAULTS: dict[str, Any] = {
    **defaults(_LIKE_JAVA, ADMIN_SETTINGS, ADMIN),
    **_COMMON,
    "connections.max.idle.ms": 540_000,
    "log_level": SILENT,
}


def producer_config(java: Mapping[str, Any]) -> dict[str, Any]:
    """librdkafka's settings for a producer with these settings of Java; raises ConfigError as Java's would."""
    native = {
        **PRODUCER_DEFAULTS,
        **translate(java, PRODUCER_SETTINGS, PRODUCER | SECURITY, "producer"),
        **for_librdkafka(java),
    }
    _relate_backoffs(native, java)
    # A record for which there is never room would be waited for without end.
    room = -(-native["message.max.bytes"] // 1024)
    native["queue.buffering.max.kbytes"] = max(native["queue.buffering.max.kbytes"], room)
    kind = native.get("compression.type", "none")
    levels = {name: native.pop(f"compression.{name}.level", None) for name in ("gzip", "lz4", "zstd")}
    if levels.get(kind) is not None:
        native["compression.level"] = levels[kind]
    if native.get("enable.idempotence", False) or "transactional.id" in native:
        _check_idempotence(native)
    if "transactional.id" in native:
        # librdkafka insists that a transaction outlives its messages and requests.
        timeout = native.get("transaction.timeout.ms", 60_000)
        native["message.timeout.ms"] = min(native["message.timeout.ms"], timeout)
        native["socket.timeout.ms"] = min(native["socket.timeout.ms"], timeout)
        native["linger.ms"] = min(native["linger.ms"], timeout - 1)
    if (delivery := native["message.timeout.ms"]) <= (linger := native["linger.ms"]):
        raise ConfigError(f"delivery.timeout.ms should be larger than linger.ms, but they are {delivery} and {linger}")
    if native["message.timeout.ms"] == 2**31 - 1:
        native["message.timeout.ms"] = 0  # for ever
    return native


def _relate_session(native: dict[str, Any]) -> None:
    """Raises ConfigError, as Java's consumer, for heartbeats that are too rare: librdkafka would lose its membership
    again and again. Its sessions can't be longer than the interval of polls.
    """
    session, heartbeat = native.get("session.timeout.ms", 45_000), native.get("heartbeat.interval.ms", 3_000)
    if heartbeat >= session:
        problem = f"Heartbeat must be set lower than the session timeout (session.timeout.ms={session})"
        raise ConfigError("heartbeat.interval.ms", heartbeat, problem)
    if session > (interval := native.get("max.poll.interval.ms", 300_000)):
        native["session.timeout.ms"] = interval
        native["heartbeat.interval.ms"] = min(heartbeat, max(interval // 3, 1))


def _relate_backoffs(native: dict[str, Any], java: Mapping[str, Any]) -> None:
    """librdkafka refuses a first wait that is longer than the longest one; in Java the one that is given counts, or the
    longest one if both are.
    """
    first, longest = native["reconnect.backoff.ms"], native["reconnect.backoff.max.ms"]
    if "reconnect.backoff.max.ms" in java:
        native["reconnect.backoff.ms"] = min(first, longest)
    else:
        native["reconnect.backoff.max.ms"] = max(first, longest)


def _check_idempotence(native: Mapping[str, Any]) -> None:
    if not native.get("enable.idempotence", True):
        raise ConfigError("Cannot set a transactional.id without also enabling idempotence.")
    if native.get("retries") == 0:
        raise ConfigError("Must set retries to non-zero when using the idempotent producer.")
    if native.get("acks", "all") not in ("all", "-1"):
        raise ConfigError(
            "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence."
        )
    if (in_flight := native.get("max.in.flight.requests.per.connection", 5)) > 5:
        raise ConfigError(
            "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most 5. "
            f"Current value is {in_flight}."
        )


def consumer_config(java: Mapping[str, Any]) -> dict[str, Any]:
    """librdkafka's settings for a consumer with these settings of Java; raises ConfigError as Java's would."""
    native = {
        **CONSUMER_DEFAULTS,
        **translate(java, CONSUMER_SETTINGS, CONSUMER | SECURITY, "consumer"),
        **for_librdkafka(java),
    }
    _relate_backoffs(native, java)
    if native.get("group.protocol") == "consumer":
        # The broker decides these, and librdkafka refuses them.
        for name in ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"):
            native.pop(name, None)
    else:
        _relate_session(native)
    # librdkafka, unlike Java, relates these: a request must outlive the wait for data, a response must fit.
    wait = native.get("fetch.wait.max.ms", 500)
    native["socket.timeout.ms"] = max(native["socket.timeout.ms"], wait + 1000)
    if "fetch.max.bytes" in native:
        most = max(native["fetch.max.bytes"], 1000)
        native["fetch.max.bytes"] = most
        native["message.max.bytes"] = min(1_000_000, most)
        native["receive.message.max.bytes"] = max(100_000_000, most + 512)
    return native


def admin_config(java: Mapping[str, Any]) -> dict[str, Any]:
    """librdkafka's settings for an admin client with these settings of Java; raises ConfigError as Java's would."""
    native = {**ADMIN_DEFAULTS, **translate(java, ADMIN_SETTINGS, ADMIN | SECURITY, "admin"), **for_librdkafka(java)}
    _relate_backoffs(native, java)
    return native


def new_producer(java: Mapping[str, Any], **native: Any) -> Producer:
    """A producer; ``native`` are settings of librdkafka that win. Raises KafkaError if it can't be made."""
    return _made("producer", Producer, java, {**producer_config(java), **native, "logger": client_log})


def new_consumer(java: Mapping[str, Any], **native: Any) -> Consumer:
    """A consumer, neither subscribed nor assigned to anything; otherwise as ``new_producer``."""
    return _made("consumer", Consumer, java, {**consumer_config(java), **native, "logger": client_log})


def new_admin(java: Mapping[str, Any], **native: Any) -> AdminClient:
    """An admin client; its operations raise or answer within the time that each is given."""
    return _made("admin client", AdminClient, java, {**admin_config(java), **native})


def _made(kind: str, client: type, java: Mapping[str, Any], native: dict[str, Any]) -> Any:
    try:
        check_addresses(native.get("bootstrap.servers", ""))
        log_in(java)
    except (ConfigError, ConnectError) as e:
        raise KafkaError(f"Failed to construct kafka {kind}") from e
    try:
        with chain_in_file(native) as given:
            return client(given)
    except KafkaException as e:
        raise KafkaError(f"Failed to construct kafka {kind}: {e.args[0].str()}") from e


def check_addresses(servers: str) -> None:
    """Raises ConfigError unless each of these ``bootstrap.servers`` is a host and a port."""
    for given in filter(None, (part.strip() for part in servers.split(","))):
        host, _, port = address(given).rpartition(":")
        if not host or not port.isdecimal():
            raise ConfigError(f"Invalid url in bootstrap.servers: {given}")


def init_transactions(producer: Producer, timeout: float) -> None:
    """Claim the producer's transactional id, which fences the producer that had it; raises KafkaException.

    ``timeout`` is in seconds, for all of it. A client looks for its coordinator once, and again after 500 ms, so it
    must be connected before. The connection of its first request is closed with the answer, which names the brokers: so
    it asks twice.
    """
    deadline = time.monotonic() + timeout

    def left() -> float:
        return max(0.001, deadline - time.monotonic())

    for _ in range(2):
        producer.list_topics("__transaction_state", timeout=left())
    producer.init_transactions(left())


def make_admin(worker: Settings, connector: Settings | None = None, *, client_id: str) -> AdminClient:
    """The admin client of a connector, or of the worker itself."""
    return new_admin(connector_admin(worker, connector or {}, client_id))


def admin_like(producer: Mapping[str, Any]) -> AdminClient:
    """An admin client that reaches the brokers as the producer with these settings of Java does."""
    return new_admin(admin_settings(producer))


def admin_settings(client: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a producer or consumer that an admin client knows too."""
    return {name: value for name, value in client.items() if name in ADMIN_SETTINGS.keys}


def check_resolvable(java: Mapping[str, Any]) -> None:
    """Raises KafkaError, as Java's clients do, if there are no ``bootstrap.servers`` or the name of none is known."""
    given = str(java.get("bootstrap.servers", ""))
    for host, _, port in [address(each).rpartition(":") for each in given.split(",")] if given else []:
        with contextlib.suppress(OSError):
            socket.getaddrinfo(host.strip("[]"), port)
            return
    problem = f"No resolvable bootstrap urls given in bootstrap.servers: {given}"
    none = "You must set either bootstrap.servers or bootstrap.controllers"
    raise KafkaError("Failed to create new KafkaAdminClient") from ConfigError(problem if given else none)
