"""The position of a sink's query in its group, on a real broker and without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from faults.broker import FaultyBroker
from penstock.api.errors import ConnectError, RetriableError
from penstock.connectors import SparkSink
from penstock.kafka.client_settings import connector_consumer
from penstock.kafka.clients import new_consumer, new_producer
from penstock.kafka.fencing import query_transactional_id
from penstock.kafka.offsets.file import OffsetFile
from penstock.kafka.offsets.groups import committed_offsets
from penstock.pipeline.task import TaskFencedError
from penstock.spark.query import asking
from penstock.spark.query.asking import AbortedError, HangingError
from penstock.spark.query.sink import offsets as group_offsets
from penstock.spark.query.sink.offsets import QueryOffsets, committing_producer
from penstock.spark.query.sink.progress import Partition, Span, requested_root
from penstock.worker.offsets import OffsetsAccess
from support.kafka.client import Kafka
from support.tasks.runs import eventually, new_name

Run = Callable[[], QueryOffsets]


@pytest.fixture
def worker(kafka: Kafka) -> dict[str, str]:
    return {"bootstrap.servers": kafka.bootstrap, "group.id": "queries"}


@pytest.fixture
def connector() -> dict[str, str]:
    return {"name": new_name("query")}


@pytest.fixture
def run(worker: dict[str, str], connector: dict[str, str]) -> Iterator[Run]:
    """The next run of one connector."""
    with ExitStack() as stack:
        yield runs(worker, connector, stack)


def never() -> bool:
    return False


def runs(worker: dict[str, str], connector: dict[str, str], stack: ExitStack) -> Run:
    """Return a function that makes runs of one connector; ``stack`` closes their consumers."""

    def make() -> QueryOffsets:
        java = connector_consumer(worker, connector, "consumer")
        consumer = new_consumer({**java, "isolation.level": "read_committed"})
        stack.callback(consumer.close)
        id = query_transactional_id("queries", connector["name"])
        return QueryOffsets(
            lambda: committed_offsets(java, "lister", java["group.id"], 30),
            consumer,
            lambda: committing_producer(worker, connector, "producer", id),
            never,
        )

    return make


class Delta:
    """Behaves like a Delta table: it skips a batch if it knows its epoch with the same or a higher number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.records: list[tuple[Partition, int]] = []

    def run(self, run: Run, partitions: list[Partition], batches: int, finish: bool = True) -> None:
        """Run, and write this many batches, each with one more record of each partition."""
        group = run()
        group.claim()
        progress = group.read(partitions)
        if progress.unfinished is not None:
            self._write(group, progress.version.next(), progress.unfinished)
            progress = group.read(partitions)
        version = progress.version
        for number in range(batches):
            version = version.next()
            start = {partition: group.offsets.get(partition, 0) for partition in partitions}
            span = Span(start, {partition: offset + 1 for partition, offset in start.items()})
            if finish or number < batches - 1:
                self._write(group, version, span)
            else:
                group.begin(version, span)

    def _write(self, group: QueryOffsets, version: Any, span: Span) -> None:
        group.begin(version, span)
        if self.known.get(version.epoch, 0) < version.number:
            self.known[version.epoch] = version.number
            self.records += [(p, offset) for p in span.end for offset in range(span.start[p], span.end[p])]
        group.done(version, span)


@pytest.mark.integration
@pytest.mark.parametrize("finish", [True, False])
def test_no_record_is_skipped_when_topics_leave_and_return(run: Run, kafka: Kafka, finish: bool) -> None:
    a, b = (kafka.create_topic(), 0), (kafka.create_topic(), 0)
    table = Delta()
    table.run(run, [a, b], 3, finish)
    table.run(run, [a], 4)
    table.run(run, [b], 3)
    table.run(run, [a, b], 1)
    assert sorted(table.records) == sorted([(a, i) for i in range(8)] + [(b, i) for i in range(7)])


@pytest.mark.integration
def test_offsets_are_read_when_the_transaction_of_another_client_has_ended(run: Run, kafka: Kafka) -> None:
    partition = (kafka.create_topic(), 0)
    before = run()
    before.claim()
    span = Span({partition: 0}, {partition: 5})
    before.begin(before.read([partition]).version.next(), span)
    stranger = new_producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": new_name("stranger")})
    stranger.init_transactions(900)
    stranger.begin_transaction()
    position = [TopicPartition(*partition, 7)]
    stranger.send_offsets_to_transaction(position, before.consumer.consumer_group_metadata(), 900)
    end = threading.Timer(2.0, stranger.commit_transaction)
    end.start()
    query = run()
    query.claim()
    assert query.read([partition]).offsets == {partition: 7}
    end.join()


@pytest.mark.integration
def test_a_first_commit_is_read_as_soon_as_it_is_done(run: Run, kafka: Kafka) -> None:
    for _ in range(5):
        partition = (kafka.create_topic(), 0)
        group = run()
        group.claim()
        span = Span({partition: 0}, {partition: 5})
        group.begin(group.read([partition]).version.next(), span)
        assert group.read([partition]).unfinished is not None


@pytest.mark.integration
def test_brokers_that_are_away_within_a_commit_lose_the_run_and_another_continues(
    tmp_path: Path, connector: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's producer has a transaction that it can neither commit nor abort."""
    with FaultyBroker(tmp_path) as broker, ExitStack() as stack:
        partition = (Kafka(broker.bootstrap).create_topic(), 0)
        run = runs({"bootstrap.servers": broker.proxied, "group.id": "queries"}, connector, stack)
        group, span = run(), Span({partition: 0}, {partition: 5})
        eventually(lambda: claims(group))
        version = group.read([partition]).version.next()
        group.begin(version, span)
        asks, asked = list[str](), group_offsets.asked

        def cut_before_the_commit(what: str, ask: Callable[[], Any], *more: Any) -> Any:
            asks.append(what)
            if len(asks) == 2:  # after the offsets have been sent
                broker.proxy.cut(8)
            return asked(what, ask, *more)

        with monkeypatch.context() as impatient:
            for module in (asking, group_offsets):
                impatient.setattr(module, "SECONDS", 2.0)
            impatient.setattr(group_offsets, "asked", cut_before_the_commit)
            with pytest.raises(TaskFencedError, match="can't be committed in this run"):
                group.done(version, span)
        again = run()
        eventually(lambda: claims(again))
        assert eventually(lambda: again.read([partition])).offsets in ({partition: 0}, {partition: 5})


def claims(group: QueryOffsets) -> bool:
    with suppress(RetriableError):
        group.claim()
    return group.claimed


@pytest.mark.integration
@pytest.mark.parametrize("restarted", [False, True])
def test_commits_go_on_when_all_connections_were_lost(
    tmp_path: Path, connector: dict[str, str], monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    monkeypatch.setattr(group_offsets, "SEND_SECONDS", 60.0)  # a broker that has just started may be slow
    with FaultyBroker(tmp_path) as broker, ExitStack() as stack:
        partition = (Kafka(broker.bootstrap).create_topic(), 0)
        group = runs({"bootstrap.servers": broker.proxied, "group.id": "queries"}, connector, stack)()
        eventually(lambda: claims(group))
        version = group.read([partition]).version
        for offset in range(3):
            version, span = version.next(), Span({partition: offset}, {partition: offset + 1})
            group.begin(version, span)
            if restarted:
                broker.kill_and_start()
            else:
                broker.proxy.reset()
            time.sleep(1)  # until the producer has noticed it
            group.done(version, span)
            assert group.read([partition]).offsets == {partition: offset + 1}


class SparkSinks:
    """Stands for the plugins: every connector is a SparkSink."""

    def connector(self, _: Any) -> type[SparkSink]:
        return SparkSink

    def kind(self, _: Any) -> str:
        return "sink"


@pytest.mark.integration
@pytest.mark.parametrize("reset", [False, True])
def test_a_batch_that_ends_later_does_not_undo_a_change_of_offsets(
    run: Run, kafka: Kafka, worker: dict[str, str], connector: dict[str, str], tmp_path: Path, reset: bool
) -> None:
    plugins: Any = SparkSinks()
    stored = OffsetFile(str(tmp_path / "offsets"))
    stored.start()
    offsets = OffsetsAccess(
        worker, stored, plugins, dict, lambda config: plugins.connector(config)(), lambda config, clients: None
    )
    topic = kafka.create_topic()
    partition = (topic, 0)
    query = run()
    query.claim()
    version = query.read([partition]).version.next()
    span = Span({partition: 0}, {partition: 5})
    query.begin(version, span)
    change = ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 2})
    offsets.write(connector["name"], connector, None if reset else [change])
    with pytest.raises(ConnectError, match="Another run of this task has been started"):
        query.done(version, span)
    altered = [] if reset else [{"partition": change[0], "offset": change[1]}]
    assert offsets.read(connector["name"], connector) == altered
    # The request need only name offsets that were deleted.
    assert bool(requested_root(connector["name"], offsets.for_task(connector["name"], connector))) is reset


class Refusing:
    """A producer whose transactional ID cannot be claimed."""

    def __init__(self, code: int) -> None:
        self.code, self.claims = code, 0

    def list_topics(self, *_: Any, **__: Any) -> None:
        pass

    def init_transactions(self, _: float) -> None:
        self.claims += 1
        raise KafkaException(KafkaError(self.code, retriable=self.code == KafkaError._TIMED_OUT))


def group_with(producer: Any) -> QueryOffsets:
    unused: Any = None
    return QueryOffsets(unused, unused, lambda: producer, never)


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.COORDINATOR_NOT_AVAILABLE])
def test_a_claim_that_is_not_answered_is_made_again(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SECONDS", 0.0)
    producer = Refusing(code)
    group = group_with(producer)
    for _ in range(2):
        with pytest.raises(ConnectError):
            group.claim()
    assert producer.claims == 2
    assert group.producer is producer
    assert group.unfenced is None


def test_a_claim_that_times_out_is_retriable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SECONDS", 0.0)
    with pytest.raises(RetriableError):
        group_with(Refusing(KafkaError._TIMED_OUT)).claim()


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError.COORDINATOR_NOT_AVAILABLE])
def test_nothing_is_waited_for_once_the_task_is_aborted(code: int) -> None:
    producer = Refusing(code)
    unused: Any = None
    group = QueryOffsets(unused, unused, lambda: producer, lambda: producer.claims == 2)
    with pytest.raises(AbortedError, match="aborted before the transactional id was claimed"):
        group.claim()
    assert producer.claims == 2


def test_a_call_that_hangs_is_left_when_the_task_is_aborted() -> None:
    """Some calls of librdkafka do not end within their timeout."""
    hangs, aborted = threading.Event(), threading.Event()
    threading.Timer(0.2, aborted.set).start()
    with pytest.raises(AbortedError, match="aborted before the offsets were sent"):
        asking.asked("the offsets were sent", hangs.wait, aborted.is_set)
    hangs.set()


def test_a_call_that_never_ends_loses_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attempt has its own time limit, which earlier attempts do not shorten."""
    monkeypatch.setattr(asking, "PAUSE_SECONDS", 0.1)
    tries, hangs, began = list[float](), threading.Event(), time.monotonic()

    def ask() -> None:
        tries.append(time.monotonic())
        if len(tries) < 5:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        hangs.wait()

    with pytest.raises(HangingError, match="does not come back: it was asked before the offsets were sent"):
        asking.asked("the offsets were sent", ask, lambda: False, longest=1.5)
    hangs.set()
    assert time.monotonic() - tries[-1] > 1.3, "not 1.5 s after the first one"
    assert tries[-1] > began + 0.4


def test_a_transaction_that_has_to_be_aborted_is_not_asked_again() -> None:
    tries = list[int]()

    def ask() -> None:
        tries.append(1)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, txn_requires_abort=True))

    with pytest.raises(KafkaException, match="Timed out"):
        asking.asked("the offsets were sent", ask, never)
    assert len(tries) == 1


@pytest.mark.parametrize("code", [KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.UNSUPPORTED_VERSION])
def test_only_without_a_right_or_support_are_offsets_committed_without_transactions(code: int) -> None:
    group = group_with(Refusing(code))
    group.claim()
    assert group.producer is None
    assert "an earlier run that is cut off from its cluster can still commit" in (group.unfenced or "")
