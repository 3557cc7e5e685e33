"""Java's client settings, as kafka-python takes them."""

from __future__ import annotations

import socket

from penstock.kafka.group.client import client_arguments


def test_numbers_have_connects_defaults() -> None:
    arguments = client_arguments({"bootstrap.servers": "a:1, b:2", "session.timeout.ms": "7000"}, "w")
    assert arguments["bootstrap_servers"] == ["a:1", "b:2"]
    assert arguments["client_id"] == "w"
    assert arguments["session_timeout_ms"] == 7000
    assert arguments["heartbeat_interval_ms"] == 3000
    assert arguments["max_poll_interval_ms"] == 60_000
    assert arguments["request_timeout_ms"] == 40_000
    assert arguments["security_protocol"] == "PLAINTEXT"


def test_buffers_and_the_longest_wait() -> None:
    given = {"send.buffer.bytes": "100000", "receive.buffer.bytes": "-1", "retry.backoff.max.ms": "20"}
    arguments = client_arguments({"bootstrap.servers": "a:1", **given}, "w")
    assert (socket.SOL_SOCKET, socket.SO_SNDBUF, 100_000) in arguments["socket_options"]
    assert not any(option == socket.SO_RCVBUF for _, option, _ in arguments["socket_options"])
    assert arguments["retry_backoff_ms"] == 20


def test_a_first_wait_that_is_longer_than_the_default_of_the_longest_counts() -> None:
    arguments = client_arguments({"bootstrap.servers": "a:1", "reconnect.backoff.ms": "5000"}, "w")
    assert arguments["reconnect_backoff_max_ms"] == arguments["reconnect_backoff_ms"] == 5000


def test_connections_may_be_idle_for_ever() -> None:
    arguments = client_arguments({"bootstrap.servers": "a:1", "connections.max.idle.ms": "-1"}, "w")
    assert arguments["connections_max_idle_ms"] == 2**31 - 1


def test_the_lookup_of_addresses_may_have_blanks_around_it() -> None:
    """With which kafka-python makes no client."""
    arguments = client_arguments({"bootstrap.servers": "a:1", "client.dns.lookup": "use_all_dns_ips "}, "w")
    assert arguments["client_dns_lookup"] == "use_all_dns_ips"
