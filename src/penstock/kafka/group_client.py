"""A worker's Java client settings as arguments of kafka-python, the client of the group protocol (``kafka.group``).

Numbers have the defaults that Connect's DistributedConfig gives them, where kafka-python's are others.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from typing import Any

NUMBERS = {
    "session.timeout.ms": ("session_timeout_ms", 10_000),
    "heartbeat.interval.ms": ("heartbeat_interval_ms", 3_000),
    "rebalance.timeout.ms": ("max_poll_interval_ms", 60_000),
    "request.timeout.ms": ("request_timeout_ms", 40_000),
    "retry.backoff.ms": ("retry_backoff_ms", 100),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", 50),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", 1_000),
    "socket.connection.setup.timeout.ms": ("socket_connection_setup_timeout_ms", 10_000),
    "socket.connection.setup.timeout.max.ms": ("socket_connection_setup_timeout_max_ms", 30_000),
    "connections.max.idle.ms": ("connections_max_idle_ms", 540_000),
    "metadata.max.age.ms": ("metadata_max_age_ms", 300_000),
}

_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")


def client_arguments(settings: Mapping[str, str], client_id: str) -> dict[str, Any]:
    """Arguments for kafka-python's client and coordinator, which each take what they know.

    Raises ValueError for a security setting that can't be carried over.
    """
    arguments: dict[str, Any] = {name: int(settings.get(key, value)) for key, (name, value) in NUMBERS.items()}
    arguments["bootstrap_servers"] = [server.strip() for server in settings["bootstrap.servers"].split(",")]
    arguments["client_id"] = client_id
    arguments["receive_message_max_bytes"] = 2**31 - 1  # the leader is sent what every member runs
    if lookup := settings.get("client.dns.lookup"):
        arguments["client_dns_lookup"] = lookup
    return arguments | security_arguments(settings)


def security_arguments(settings: Mapping[str, str]) -> dict[str, Any]:
    """``security.protocol``, ``sasl.*`` with PLAIN or SCRAM, ``ssl.*`` with stores of type PEM."""
    protocol = settings.get("security.protocol", "PLAINTEXT")
    arguments: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL_"):
        mechanism = settings.get("sasl.mechanism", "GSSAPI")
        if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            raise ValueError(
                f"sasl.mechanism={mechanism} is not supported for group membership,"
                " it must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
            )
        jaas = settings.get("sasl.jaas.config", "")
        options = {name: a or b or c for name, a, b, c in _JAAS_OPTION.findall(jaas)}
        if not {"username", "password"} <= options.keys():
            raise ValueError(f"sasl.jaas.config must give username and password for sasl.mechanism={mechanism}")
        arguments |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": _unescaped(options["username"]),
            "sasl_plain_password": _unescaped(options["password"]),
        }
    if protocol.endswith("SSL"):
        arguments["ssl_context"] = ssl_context(settings)
    return arguments


def ssl_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """PEM in files (``ssl.truststore.location``, ``ssl.keystore.location``) or in the settings themselves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https") != ""
    for store in ("truststore", "keystore"):
        kind = settings.get(f"ssl.{store}.type", "JKS")
        if f"ssl.{store}.location" in settings and kind != "PEM":
            raise ValueError(f"ssl.{store}.type={kind} is not supported, convert the store to PEM and set PEM")
    if certificates := settings.get("ssl.truststore.certificates"):
        context.load_verify_locations(cadata=certificates)
    elif location := settings.get("ssl.truststore.location"):
        context.load_verify_locations(cafile=location)
    else:
        context.load_default_certs()
    password = settings.get("ssl.key.password")
    if chain := settings.get("ssl.keystore.certificate.chain"):
        # OpenSSL reads certificate chains from files only.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(settings.get("ssl.keystore.key", "") + "\n" + chain)
            file.flush()
            context.load_cert_chain(file.name, password=password)
    elif location := settings.get("ssl.keystore.location"):
        context.load_cert_chain(location, password=password)
    return context


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
