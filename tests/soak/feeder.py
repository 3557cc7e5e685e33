"""Producer of numbers that are sent to a topic evenly while faults come."""

from __future__ import annotations

import threading
import time

from confluent_kafka import Producer

MARK = ";"
"""End of each number, by which a truncated one is recognized."""


class Feeder:
    """Sends the numbers from 0, one partition after the other, each ending with MARK."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, records: int, seconds: float) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "enable.idempotence": True,
            "message.timeout.ms": 0,  # retry however long the broker is unreachable
        }
        self.failure: BaseException | None = None
        self._producer = Producer(settings)
        self._topic, self._partitions, self._records, self._seconds = topic, partitions, records, seconds
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._work, name="feeder")

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until the last number is in the topic, or until ``abandon``."""
        self._thread.join()

    def abandon(self) -> None:
        """Stop sending: the broker may never return."""
        self._abandoned.set()

    def _work(self) -> None:
        try:
            begun, step = time.monotonic(), max(self._records // 1000, 1)
            for first in range(0, self._records, step):
                for number in range(first, min(first + step, self._records)):
                    self._send(number)
                self._producer.poll(0)
                self._abandoned.wait(max(begun + self._seconds * first / self._records - time.monotonic(), 0))
            while self._producer.flush(1) and not self._abandoned.is_set():
                pass
        except BaseException as error:
            self.failure = error

    def _send(self, number: int) -> None:
        while not self._abandoned.is_set():
            try:
                self._producer.produce(self._topic, f"{number}{MARK}", partition=number % self._partitions)
                return
            except BufferError:
                self._producer.poll(0.1)
