"""Dead letters of one try of a partition, which are sent when the try has come to its end, and failures of one batch.

Spark tries a partition that fails again, and the task a batch whose columns have become more; the dead letters of each
such try would be in the queue once more. So would those of records behind the place where a pass over a batch stops
(``jdbc.plan``): the next pass meets them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer

from penstock.api.batch import SinkOrigin
from penstock.pipeline.errors import FailureReporter, RecordFailure
from penstock.spark.query.sink.progress import Partition

MAX_HELD = 10_000
"""Beyond so many they are sent at once, and may come more than once."""


class HeldProducer:
    """Stands for the producer that ``make`` makes; what is produced waits for ``flush``."""

    def __init__(self, make: Callable[[], Producer]) -> None:
        self._make = make
        self._producer: Producer | None = None
        self._held: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def produce(self, *values: Any, **more: Any) -> None:
        self._held.append((values, more))
        if len(self._held) >= MAX_HELD:
            self._send()

    def poll(self, seconds: float) -> int:
        return 0 if self._producer is None else self._producer.poll(seconds)

    def flush(self, seconds: float) -> int:
        """Send what is held, and flush as ``Producer.flush``."""
        if self._held:
            self._send()
        return 0 if self._producer is None else self._producer.flush(seconds)

    def _send(self) -> None:
        if self._producer is None:  # its truth is that of its length, the number of its messages
            self._producer = self._make()
        producer = self._producer
        held, self._held = self._held, []
        for values, more in held:
            while True:
                try:
                    producer.produce(*values, **more)
                    break
                except BufferError:
                    producer.poll(0.1)
                except KafkaException as error:
                    more["on_delivery"](error.args[0], None)
                    break


class HeldFailures:
    """Stands for ``reporters``, which get failures by ``release``."""

    def __init__(self) -> None:
        self.reporters: Sequence[FailureReporter] = ()
        self._held: list[RecordFailure] = []

    def __call__(self, failure: RecordFailure) -> None:
        self._held.append(failure)

    def release(self, stops: Mapping[Partition, int]) -> None:
        """Called after each batch of Arrow: reports the failures of records before these offsets, and forgets the
        others.
        """
        held, self._held = self._held, []
        for failure in held:
            origin = failure.record.origin
            assert isinstance(origin, SinkOrigin)
            stop = stops.get((origin.topics[0], origin.partitions[0]))
            if stop is None or origin.offsets[0] < stop:
                for report in self.reporters:
                    report(failure)
