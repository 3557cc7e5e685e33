"""The settings that only Java's admin clients have, and those of which their defaults differ from other clients'."""

from __future__ import annotations

ADMIN = """
bootstrap.servers LIST HIGH ""
bootstrap.controllers LIST HIGH ""
    Addresses of controllers, to be asked instead of brokers. Refused here: name brokers in `bootstrap.servers`.
client.id STRING MEDIUM ""
receive.buffer.bytes INT MEDIUM 65536
enable.metrics.push BOOLEAN LOW false
connections.max.idle.ms LONG MEDIUM 300000
    Milliseconds after which a connection that is not used is closed. Without this setting 540000 here.
retries INT LOW 2147483647
    How often Java sends a failed request again. No effect here, where only time limits count.
default.api.timeout.ms INT MEDIUM 60000
"""
