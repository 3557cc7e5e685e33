"""The archive of the classes of the embedded broker, see ``class_data.py``: ``python -m`` this module makes it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.embedded import class_data
from penstock.embedded.broker import CLASS_DATA, Broker
from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import jars
from penstock.embedded.java import java
from penstock.scratch import Scratch


def make() -> None:
    """Start a broker, use it as clients do, end it, and leave the archive. Raises EmbeddedError."""
    executable = java().executable
    made = class_data.archive(CLASS_DATA, executable, jars("kafka"))
    class_data.make(made, lambda draft: _write(class_data.writing(executable, made, draft)))


class _Writing(Broker):
    """A broker that writes the archive when it ends."""

    options: Sequence[str] = ()

    def _command(self, main: str, *arguments: str, heap: str, initial: str = "64m") -> list[str]:
        executable, *rest = super()._command(main, *arguments, heap=heap, initial=initial)
        return [executable, *(self.options if main == "kafka.Kafka" else ()), *rest]


def _write(options: Sequence[str]) -> None:
    scratch = Scratch("kafka")
    try:
        broker = _Writing(Path(scratch.path))
        broker.options = options
        with broker:
            _use(broker.bootstrap)
            broker.end(class_data.END_SECONDS)
    finally:
        scratch.close()


def _use(bootstrap: str) -> None:
    """A transaction, and a group that reads its record."""
    from confluent_kafka import Consumer, Producer

    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("t", b"record")
    producer.commit_transaction()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    while consumer.poll(1.0) is None:
        pass
    consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    class_data.give_way()
    try:
        make()
    except EmbeddedError as error:
        sys.exit(str(error))
