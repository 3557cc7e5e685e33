"""Records that a producer refuses, and records that it still has when its task ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError, DataError
from penstock.core.model.tasks import TaskId
from penstock.kafka.statistics import LOST_REPORTS
from penstock.pipeline.broker_errors import unsent
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.sending.sender import MAX_BLOCK, LossPolicy, RequestLimits, Sender
from penstock.pipeline.source.sending.topic_limits import MissingPartitions, TopicLimits
from penstock.pipeline.task import TaskControl, TaskFencedError
from penstock.pipeline.trace import trace
from support.kafka.lost import PRODUCER as LOST
from support.tasks.runs import MemoryHost
from support.waiting import SECONDS, until


def nobody() -> Any:
    raise AssertionError("no broker is asked")


def sending(losses: LossPolicy = LossPolicy(), producer: Any = None, max_block: float = MAX_BLOCK) -> Sender:
    """Return a sender with this producer, or with one that cannot reach a broker."""
    host, metrics = MemoryHost(), Metrics(lambda values: None, ())
    errors = ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)

    def made(callbacks: Mapping[str, Any]) -> Any:
        native = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "on_delivery": callbacks["on_delivery"]}
        return Producer(native) if producer is None else producer

    runtime = TaskRuntime(TaskId("c", 0), TaskControl(), host, metrics, errors)
    return Sender(runtime, losses, made, TopicLimits(nobody, 1_000_000), RequestLimits(1_048_576, max_block))


def test_a_partition_that_is_none_is_refused_as_in_java() -> None:
    sender = sending()
    origin = SourceOrigin([{"file": "a"}] * 2, [{"line": 1}, {"line": 2}])
    batch = Batch.of("t", [b"1", b"2"], partitions=[None, -1], origin=origin)
    with pytest.raises(
        DataError, match=r"^Invalid partition: -1\. Partition number should always be non-negative or n"
    ) as raised:
        sender.send(batch)
    assert "source offset {'line': 2}" in trace(raised.value)
    sender.close()


class Partitions:
    """A producer that knows the number of partitions in the brokers' last answer; ``answers``: their answers."""

    def __init__(self, *answers: int) -> None:
        self._answers, self._known = iter(answers), 1
        self.sent: list[tuple[str, bytes, int]] = []

    def produce(self, topic: str, value: bytes, key: Any, partition: int, *more: Any) -> None:
        if partition >= self._known:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))
        self.sent.append((topic, value, partition))

    def list_topics(self, topic: str, timeout: float) -> Any:
        self._known = next(self._answers)
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=dict.fromkeys(range(self._known)))})

    def poll(self, seconds: float) -> int:
        return 0


def test_a_partition_that_has_been_added_is_waited_for_as_in_java() -> None:
    producer: Any = Partitions(1, 2, 3)
    sender = sending(producer=producer, max_block=3600.0)
    sender.send(Batch.of("t", [b"1", b"2", b"3", b"4"], partitions=[0, 2, 0, 1]))
    assert producer.sent == [("t", b"1", 0), ("t", b"2", 2), ("t", b"3", 0), ("t", b"4", 1)]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_partition_that_a_new_topic_does_not_have_is_named_with_the_origin_of_the_record(exactly_once: bool) -> None:
    """The producer would accept the first records of a topic, and would not know their origin later."""

    class TakesAll(Partitions):
        def produce(self, topic: str, value: bytes, key: Any, partition: int, *more: Any) -> None:
            self.sent.append((topic, value, partition))

    producer: Any = TakesAll(*[1] * 100)
    losses = LossPolicy(failure=lambda error: unsent(TaskId("c", 0), error)) if exactly_once else LossPolicy()
    sender = sending(losses, producer, max_block=0.0)
    origin = SourceOrigin([{"file": "a"}] * 2, [{"line": 1}, {"line": 2}])
    with pytest.raises(ConnectError) as raised:
        sender.send(Batch.of("t", [b"1", b"2"], partitions=[0, 99], origin=origin))
    said = trace(raised.value)
    assert "Partition 99 of topic t with partition count 1 is not present in metadata after 0 ms." in said
    assert "source partition {'file': 'a'}, source offset {'line': 2}" in said


class Full(Partitions):
    """A producer with room for two records at a time."""

    room = 2

    def produce(self, topic: str, value: bytes, key: Any, *more: Any) -> None:
        if not self.room:
            raise BufferError
        self.room -= 1
        self.sent.append((topic, value, more[-1]))

    def poll(self, seconds: float) -> int:
        self.room = 2
        return 0


def test_each_record_is_sent_once_and_in_order_when_the_producer_is_full_now_and_then() -> None:
    producer: Any = Full()
    sender = sending(producer=producer)
    values = [b"%d" % i for i in range(7)]
    sender.send(Batch.of("t", values, timestamps=list(range(1, 8))))
    assert producer.sent == [("t", value, i) for i, value in enumerate(values, 1)]
    assert sender.taken == 7


def test_a_record_for_a_partition_that_its_topic_has_not_is_refused_with_javas_words() -> None:
    sender = sending(producer=Partitions(1, 1), max_block=0.0)
    with pytest.raises(ConnectError, match="Unrecoverable exception from producer send callback") as raised:
        sender.send(Batch.of("t", [b"1"], partitions=[5]))
    cause: Any = raised.value.__cause__
    assert cause.java_name == "org.apache.kafka.common.errors.TimeoutException"
    assert str(cause) == "Partition 5 of topic t with partition count 1 is not present in metadata after 0 ms."


def test_what_has_not_arrived_is_given_up_at_the_end_and_is_no_failure() -> None:
    sender = sending()
    producer = sender.producer
    for value in (b"1", b"2"):
        sender.put("t", None, value)
    assert len(producer) >= 2  # besides the records, librdkafka may have events about its connections
    sender.close()
    until(lambda: producer.poll(0.1) >= 0 and not len(producer), "the end of the records", SECONDS)
    assert not sender.lost
    sender.check()


class Failed:
    """Behaves like librdkafka after a failed transaction: it refuses records without a reason, the next step with
    one.
    """

    def produce(self, *given: Any) -> None:
        raise KafkaException(KafkaError(KafkaError._STATE))

    def begin_transaction(self) -> None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def poll(self, seconds: float) -> int:
        return 0


@pytest.mark.parametrize(
    "send", [lambda sender: sender.put("t", None, b"1"), lambda sender: sender.send(Batch.of("t", [b"1"]))]
)
def test_the_reason_why_a_transaction_has_failed_is_found_out(send: Callable[[Sender], None]) -> None:
    losses = LossPolicy(failure=lambda error: unsent(TaskId("c", 0), error))
    sender = sending(losses, Failed())
    with pytest.raises(TaskFencedError, match="the brokers have not answered in time"):
        send(sender)


def test_brokers_that_do_not_answer_are_not_asked_for_each_new_topic() -> None:
    """The loop cannot end while it asks, and a mirror has many topics."""
    asked = list[str]()

    def away(topic: str, timeout: float) -> None:
        asked.append(topic)
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    producer: Any = SimpleNamespace(list_topics=away)
    missing = MissingPartitions(producer, MAX_BLOCK, nobody)
    assert all(missing.has(f"t{number}", 0) for number in range(1000))
    assert asked == ["t0"]


def test_a_producer_that_has_lost_its_brokers_ends_the_run() -> None:
    sender = sending()
    sender.send(Batch.of("t", [b"1"]))
    for _ in range(LOST_REPORTS):
        sender.check()
        sender.on_statistics(LOST)
    with pytest.raises(TaskFencedError, match="has lost all its brokers"):
        sender.check()
    sender.close()
