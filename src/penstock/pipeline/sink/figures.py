"""Figures for the health of a sink task: how far it is behind, as its consumer knows without asking brokers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.sink import TopicPartition
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.sink.loop import SinkLoop
from penstock.pipeline.telemetry.places import Places, of_topic


@dataclass(slots=True)
class SinkFigures:
    loop: SinkLoop
    statistics: ClientStatistics
    queue: DeadLetterQueue | None = None
    _places: Places = field(default_factory=Places)

    def measure(self) -> None:
        """Called before metrics are reported."""
        if self.queue is not None:
            self.queue.serve()
        loop, state, metrics = self.loop, self.loop.machine.state, self.loop.runtime.metrics
        client = self.statistics.read()
        fetched = {
            TopicPartition(topic, number): found["next_offset"]
            for topic, number, found in client.partitions()
            if not found["fetchq_cnt"]
        }
        places = [
            of_topic("from", *partition, self._position(partition, fetched.get(partition)), self._end(partition))
            for partition in sorted(state.assigned)
        ]
        behind = sum(place.behind or 0 for place in places)
        batch = state.batch
        times = batch.records.timestamps[:1] if batch is not None else [loop.records.last_time]
        seconds = time.time() - times[0] / 1000 if times and times[0] is not None else 0.0
        metrics.put("penstock-records-behind", behind)
        metrics.put("penstock-seconds-behind", max(seconds, 0.0) if behind else 0.0)
        metrics.put("penstock-retrying", float(state.retrying))
        metrics.say("penstock-places", self._places.described(time.monotonic(), places))
        lags = [{**place.where, "records-lag": place.behind} for place in places if place.behind is not None]
        metrics.say("penstock-clients", [{**client.described(), "partitions": lags}])

    def _end(self, partition: TopicPartition) -> int | None:
        try:
            end = self.loop.consumer.client.get_watermark_offsets(ClientPartition(*partition), cached=True)[1]
        except KafkaException:  # not known yet; it must not be why a task fails
            return None
        return end if end >= 0 else None

    def _position(self, partition: TopicPartition, fetched: int | None) -> int | None:
        """``fetched``: the offset to fetch next, if nothing before it waits to be taken: then what lies between the
        last record and that offset are markers of transactions.
        """
        state = self.loop.machine.state
        position, batch = state.taken.get(partition), state.batch
        if batch is not None and position is None:
            return batch.first_offset(partition)
        if position is None or fetched is None or batch is not None or state.ahead:
            return position
        return max(position, fetched)
