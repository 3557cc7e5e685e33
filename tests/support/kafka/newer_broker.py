"""A broker of Kafka 4.4."""

from __future__ import annotations

from pathlib import Path

from penstock.embedded import Broker
from support.jars import listed

JARS = Path(__file__).with_name("broker-4.4.jars")


class NewerBroker(Broker):
    """A broker of Kafka 4.4.0, otherwise as its base."""

    def class_path(self) -> list[Path]:
        return listed(JARS)
