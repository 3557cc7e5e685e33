"""Maximum rate of a source: librdkafka alone, on the same broker in the same run, beside ``source-string``.

The lines are in memory, and ``produce`` is called for each, with the settings of Penstock's producers.
"""

from __future__ import annotations

import time

from confluent_kafka import Producer

from bench.connect import PATIENCE
from bench.setting import Setting
from penstock.kafka.clients import new_producer

TRANSACTION = 10_000
"""Lines per transaction, as in ``source-string``."""


def by_program(setting: Setting) -> dict[str, float]:
    """Measure with transactions, as in ``source-string``, and without."""
    with setting.lines().open("rb") as file:
        lines = [line.rstrip(b"\n") for line in file]
    found = {}
    for figure, transactional in (("records/s", True), ("records/s without transactions", False)):
        topic = setting.create_topic(setting.name("ceiling"))
        settings = {"bootstrap.servers": setting.bootstrap}
        if transactional:
            settings["transactional.id"] = topic
        producer = new_producer(settings)
        if transactional:
            producer.init_transactions(PATIENCE)
        started = time.perf_counter()
        for at in range(0, len(lines), TRANSACTION):
            if transactional:
                producer.begin_transaction()
            _send(producer, topic, lines[at : at + TRANSACTION])
            if transactional:
                producer.commit_transaction(PATIENCE)
        producer.flush()
        found[figure] = len(lines) / (time.perf_counter() - started)
        setting.same("ceiling", "librdkafka alone", setting.values(topic), unchanged=True)
        setting.delete_topics(topic)
    return found


def _send(producer: Producer, topic: str, lines: list[bytes]) -> None:
    for line in lines:
        while True:
            try:
                producer.produce(topic, line)
                break
            except BufferError:
                producer.poll(0.1)
