"""A worker's Java client settings as arguments of kafka-python, the client of the group protocol (``connection``).

Numbers have the defaults of Connect's DistributedConfig, where kafka-python's are others.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping
from typing import Any

from penstock.core.config.clients import CONSUMER_SETTINGS
from penstock.kafka.security.clients import for_kafka_python
from penstock.kafka.security.tickets import log_in

# It logs each attempt to connect; this package logs what an operator must know, once per change.
if (kafka_log := logging.getLogger("kafka")).level == logging.NOTSET:
    kafka_log.setLevel(logging.CRITICAL)

ARGUMENTS = {
    "session.timeout.ms": "session_timeout_ms",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "rebalance.timeout.ms": "max_poll_interval_ms",
    "request.timeout.ms": "request_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "socket.connection.setup.timeout.ms": "socket_connection_setup_timeout_ms",
    "socket.connection.setup.timeout.max.ms": "socket_connection_setup_timeout_max_ms",
    "connections.max.idle.ms": "connections_max_idle_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
}
_WORKER_DEFAULTS = {
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 3_000,
    "rebalance.timeout.ms": 60_000,
    "request.timeout.ms": 40_000,
}
"""Defaults of Connect's DistributedConfig that differ from those of consumers."""
_BUFFERS = {"send.buffer.bytes": socket.SO_SNDBUF, "receive.buffer.bytes": socket.SO_RCVBUF}
"""Left to the system where nothing is set, or -1."""


def client_arguments(settings: Mapping[str, str], client_id: str) -> dict[str, Any]:
    """Arguments for kafka-python's client and coordinator, which each take what they know.

    With Kerberos this process logs in. Raises ConfigError for a security setting that can't be used, and ConnectError.
    """
    log_in(settings)
    arguments: dict[str, Any] = {
        argument: int(settings.get(name, _default(name))) for name, argument in ARGUMENTS.items()
    }
    # kafka-python always waits as long; Java's clients wait longer each time, up to this.
    arguments["retry_backoff_ms"] = min(arguments["retry_backoff_ms"], int(settings.get("retry.backoff.max.ms", 1000)))
    if "reconnect.backoff.max.ms" not in settings:
        longest = max(arguments["reconnect_backoff_ms"], arguments["reconnect_backoff_max_ms"])
        arguments["reconnect_backoff_max_ms"] = longest
    if arguments["connections_max_idle_ms"] < 0:  # for ever, in Java; here they would all be closed again and again
        arguments["connections_max_idle_ms"] = 2**31 - 1
    sizes = {option: int(settings.get(key, -1)) for key, option in _BUFFERS.items()}
    arguments["socket_options"] = [
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.SOL_SOCKET, option, size) for option, size in sizes.items() if size >= 0),
    ]
    arguments["bootstrap_servers"] = [server.strip() for server in settings["bootstrap.servers"].split(",")]
    arguments["client_id"] = client_id
    arguments["receive_message_max_bytes"] = 2**31 - 1  # the leader is sent what every member runs
    if lookup := settings.get("client.dns.lookup", "").strip():
        arguments["client_dns_lookup"] = lookup
    return arguments | for_kafka_python(settings)


def _default(name: str) -> int:
    return int(_WORKER_DEFAULTS[name] if name in _WORKER_DEFAULTS else CONSUMER_SETTINGS.keys[name].default)
