"""A partition whose leader is elected from outside its in-sync replicas: its end moves back, and grows again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask
from support.kafka.elections import Trio, three_brokers
from support.tasks.runs import TaskRun, eventually, new_name
from support.waiting import SECONDS

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    with three_brokers(tmp_path) as trio:
        yield trio


def taking(taken: list[str]) -> Any:
    class Taking(SinkTask):
        def put(self, records: list[SinkRecord]) -> None:
            taken.extend(str(record.value) for record in records)

    Taking.__module__ = __name__
    return Taking


def test_a_sink_gets_all_records_of_a_new_leader_though_it_has_read_further(trio: Trio) -> None:
    """Also records at offsets that the sink had read from the old leader, after as many new records."""
    topic, taken = trio.topic(), list[str]()
    kept, gone, new = ([f"{kind}{i}" for i in range(n)] for kind, n in (("kept", 50), ("gone", 30), ("new", 100)))
    with TaskRun(taking(taken), trio.bootstrap, {"topics": topic}, connector=new_name()):
        trio.kafka.produce(topic, kept)
        eventually(lambda: len(taken) == 50, SECONDS)
        trio.diverge(topic, gone)
        eventually(lambda: len(taken) == 80, SECONDS)
        trio.elect(topic)
        trio.kafka.produce(topic, new)
        eventually(lambda: set(new) <= set(taken), SECONDS)
    assert set(taken) == {*kept, *gone, *new}
    assert [each for each in taken if each in new][: len(new)] == new
