"""``penstock --version`` and ``penstock version``, which a report of a fault quotes."""

from __future__ import annotations

from typing import Any

from penstock import KAFKA_VERSION, __version__


def test_versions(penstock: Any) -> None:
    assert penstock("--version").stdout == f"penstock {__version__}\n"
    said = penstock("version").stdout.splitlines()
    assert said[:2] == [f"penstock {__version__}", f"Kafka Connect {KAFKA_VERSION}"]
    assert {line.split()[0] for line in said[2:]} == {"pyspark", "confluent-kafka", "kafka-python", "Python"}
