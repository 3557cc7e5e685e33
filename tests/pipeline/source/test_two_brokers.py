"""A partition without a leader, and coordinators that move: tasks wait or go on, and nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from faults.pair import BrokerPair
from penstock.api.record import SinkRecord, SourceRecord
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask
from support.tasks.runs import TaskRun, eventually, new_name

pytestmark = pytest.mark.integration

PATIENCE = 900
ONCE = {"exactly_once": True, "group_id": "two"}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerPair]:
    with BrokerPair(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


def counting(topic: str) -> Any:
    """Return a source that sends the numbers below its ``limit``, and continues from its offset."""

    class Counting(SourceTask):
        limit = 100

        def start(self, config: dict[str, str]) -> None:
            self.next = 0

        def poll(self) -> list[SourceRecord] | None:
            if self.next >= self.limit:
                return None
            number, self.next = self.next, self.next + 1
            place = {"source_partition": {"p": 0}, "source_offset": {"o": number}}
            return [SourceRecord(topic=topic, value=str(number), **place)]

        def idle(self) -> float:
            return 0.02

    Counting.__module__ = __name__
    return Counting


def numbers(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "exactly once"])
def test_records_wait_for_the_leader_of_their_partition(pair: BrokerPair, once: bool) -> None:
    topic, offsets = pair.create_topic(new_name("t"), [2]), pair.create_topic(new_name("o"), [1])
    source = counting(topic)
    spec = {**ONCE, "offsets_topic": offsets} if once else {}
    with TaskRun(source, pair.bootstrap, {}, connector=new_name(), **spec) as run:
        eventually(lambda: pair.kafka.values(topic) == numbers(100), PATIENCE)
        pair.kill_second()
        try:
            source.limit = 200
            run.turns("aborted", 20)
            stored = [offset["o"] for _, offset in run.host.stored]
            assert max(stored, default=0) < 100
        finally:
            pair.start_second()
        eventually(lambda: len(pair.kafka.values(topic)) >= 200, PATIENCE)
    assert pair.kafka.values(topic) == numbers(200)


def test_a_source_and_a_sink_go_on_when_their_coordinators_move(pair: BrokerPair) -> None:
    topic, offsets = pair.create_topic(new_name("t"), [1]), pair.create_topic(new_name("o"), [1])
    source, taken = counting(topic), list[str]()

    class Taking(SinkTask):
        def put(self, records: list[SinkRecord]) -> None:
            taken.extend(str(record.value) for record in records)

    Taking.__module__ = __name__
    name = new_name()
    sink = TaskRun(Taking, pair.bootstrap, {"topics": topic}, connector=name)
    with sink, TaskRun(source, pair.bootstrap, {}, offsets_topic=offsets, **ONCE):
        eventually(lambda: len(taken) == 100, PATIENCE)
        pair.kill_second()
        try:
            source.limit = 200
            eventually(lambda: len(set(taken)) == 200, PATIENCE)
            group = f"connect-{name}"
            end = len(pair.kafka.values(topic)) + 200  # a mark follows each transaction
            eventually(lambda: pair.kafka.committed(group).get((topic, 0), 0) >= end - 1, PATIENCE)
        finally:
            pair.start_second()
    assert pair.kafka.values(topic) == numbers(200)
    assert list(dict.fromkeys(taken)) == [str(number) for number in range(200)]
