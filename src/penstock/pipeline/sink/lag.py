"""How far a sink task is behind: gauges for its health, from what the consumer knows without asking brokers."""

from __future__ import annotations

import time

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.loop import SinkLoop


def measure_lag(loop: SinkLoop) -> None:
    """Called before metrics are reported."""
    behind = sum(_records_behind(loop, partition) for partition in loop.context.assignment)
    times = loop.pending.records.timestamps[:1] if loop.pending is not None else [loop.last_time]
    seconds = time.time() - times[0] / 1000 if times and times[0] is not None else 0.0
    loop.runtime.metrics.put("penstock-records-behind", behind)
    loop.runtime.metrics.put("penstock-seconds-behind", max(seconds, 0.0) if behind else 0.0)
    loop.runtime.metrics.put("penstock-retrying", float(loop.retrying))


def _records_behind(loop: SinkLoop, partition: TopicPartition) -> int:
    try:
        end = loop.consumer.client.get_watermark_offsets(ClientPartition(*partition), cached=True)[1]
    except KafkaException:  # not known yet; it must not be why a task fails
        return 0
    position = loop.offsets.current.get(partition)
    if position is None and loop.pending is not None:
        position = loop.pending.first_offset(partition)
    return 0 if position is None else max(end - position, 0)
