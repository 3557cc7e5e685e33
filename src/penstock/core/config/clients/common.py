"""The settings that all of Java's clients have, except those of security."""

from __future__ import annotations

from collections.abc import Mapping

OF_REPORTERS, NO_REPORTERS = "metrics.context.", "it is for metric reporters, of which there are none here"
"""The prefix of settings with any name that Java's clients and workers pass to metric reporters, and why they have no
effect.
"""
COMMON = """
client.dns.lookup STRING MEDIUM use_all_dns_ips
    How names of brokers become addresses: `use_all_dns_ips` tries all addresses of a name in turn;
    `resolve_canonical_bootstrap_servers_only` first replaces each name in `bootstrap.servers` by the full names of its
    addresses, which logins with Kerberos may need.
send.buffer.bytes INT MEDIUM 131072
    The size of TCP's send buffer in bytes; -1 leaves it to the system, as librdkafka does without this setting.
reconnect.backoff.ms LONG LOW 50
    Milliseconds before a broker whose connection failed is connected to again, at first; the time doubles with each
    failure. At most an hour. Without this setting it is 250 here, or `reconnect.backoff.max.ms` if that is less.
reconnect.backoff.max.ms LONG LOW 1000
    The most milliseconds before a broker is connected to again; at most an hour here.
retry.backoff.ms LONG LOW 100
    Milliseconds before a failed request is sent again, at first; the time doubles with each failure. From 1 to 300000
    here.
retry.backoff.max.ms LONG LOW 1000
    The most milliseconds before a failed request is sent again; from 1 to 300000 here.
request.timeout.ms INT MEDIUM 30000
    Milliseconds that a broker has to answer a request before it counts as failed; from 10 to 300000 here.
metadata.max.age.ms LONG LOW 300000
    Milliseconds after which what a client knows of topics, partitions and leaders is outdated; at most a day here.
    librdkafka also asks for them every five minutes, whatever this says.
metrics.sample.window.ms LONG LOW 30000
    Milliseconds of each sample of Java's metrics. No effect here: rates are taken over half a minute.
metrics.num.samples INT LOW 2
    How many samples Java's metrics are made of. No effect here: rates are taken over half a minute.
metrics.recording.level STRING LOW INFO
    How many of Java's metrics are recorded. No effect here: all metrics are.
metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter
    Java classes that report metrics. No effect on clients here: the worker shows theirs at `GET /metrics`.
socket.connection.setup.timeout.ms LONG MEDIUM 10000
    Milliseconds that a connection to a broker may take to be made. Here at least 1000, with TLS and login, and always
    the same; in Java it doubles with each failure.
socket.connection.setup.timeout.max.ms LONG MEDIUM 30000
    The most milliseconds to which Java raises that time. No effect here, where it stays the same.
metadata.recovery.strategy STRING LOW rebootstrap
    What a client does when none of the brokers it knows answers: `rebootstrap` starts over with `bootstrap.servers`,
    `none` keeps trying those it knows.
metadata.recovery.rebootstrap.trigger.ms LONG LOW 300000
    Milliseconds without an answer about the cluster after which a client starts over with `bootstrap.servers`.
config.providers LIST LOW ""
    Names of config providers for Java's clients. No effect on clients here: the worker resolves references before it
    hands settings to clients.
"""

SHARED: Mapping[str, str] = {
    "bootstrap.servers": "Addresses of brokers, `host:port`, separated by commas; a client finds the others from "
    "these. Without this setting, those of the worker.",
    "client.id": "The name by which brokers' logs, metrics and quotas know the client. Without this setting, "
    "Connect makes one from the names of connector and task.",
    "connections.max.idle.ms": "Milliseconds after which a connection that is not used is closed.",
    "default.api.timeout.ms": "Milliseconds that a call of the client may take in Java, where no other limit is given. "
    "No effect here: the worker gives each of its calls a limit of its own.",
    "enable.metrics.push": "Whether the client sends its metrics to brokers that ask for them (KIP-714). Off here "
    "unless it is set.",
    "interceptor.classes": "Java classes that see records on their way. None can run here, so a value is refused.",
    "receive.buffer.bytes": "The size of TCP's receive buffer in bytes; -1 leaves it to the system, as librdkafka does "
    "without this setting.",
}
"""Documentation of settings that several clients have with defaults of their own."""
