"""A mirrored partition whose new leader, from outside the in-sync replicas, has fewer records: its end moves back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.kafka.offsets.records import identity_in
from penstock.pipeline.task import CommittedOffset
from support.kafka.elections import Trio, three_brokers
from support.mirror.setup import aliases, mirror_config
from support.tasks.runs import TaskRun, eventually, new_name
from support.waiting import SECONDS

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Trio]:
    with three_brokers(tmp_path) as trio:
        yield trio


def stored(trio: Trio, offsets: str) -> tuple[CommittedOffset, ...]:
    """Return all committed offsets, for the next run."""
    last = {record.key: record for record in trio.kafka.read_all(offsets)}
    return tuple(
        CommittedOffset(json.loads(key)[1], json.loads(record.value), None, identity_in(record.headers or ()))
        for key, record in last.items()
        if key and record.value
    )


@pytest.mark.parametrize("stopped", [False, True])
def test_a_mirror_loses_no_record_of_a_new_leader_though_it_has_read_further(trio: Trio, stopped: bool) -> None:
    """They are read even if the partition is longer than the position again when the mirror starts."""
    source, target = aliases()
    topic, offsets = trio.topic(), new_name("offsets")
    remote = f"{source}.{topic}"
    for name in (remote, offsets):
        trio.kafka.create(NewTopic(name, 1, replica_assignment=[[1]]))
    kept, gone, new = ([f"{kind}{i}" for i in range(n)] for kind, n in (("kept", 50), ("gone", 30), ("new", 100)))
    config = mirror_config(trio.bootstrap, source, target, emit_offset__syncs_enabled="false")
    config |= {"task.assigned.partitions": f"{topic}-0", "task.index": "0"}
    spec: dict[str, Any] = {"connector": new_name(), "offsets_topic": offsets}

    def mirrored() -> set[str]:
        return {(value or b"").decode() for value in trio.kafka.values(remote)}

    run = TaskRun(MirrorSourceTask, trio.bootstrap, config, **spec)
    try:
        trio.kafka.produce(topic, kept)
        eventually(lambda: mirrored() == set(kept), SECONDS)
        trio.diverge(topic, gone)
        eventually(lambda: mirrored() == {*kept, *gone}, SECONDS)
        if stopped:
            run.stop()
            assert [each.offset for each in stored(trio, offsets)] == [{"offset": 79}]
        trio.elect(topic)
        trio.kafka.produce(topic, new)
        if stopped:
            run = TaskRun(MirrorSourceTask, trio.bootstrap, config, **spec, offsets=stored(trio, offsets))
        eventually(lambda: set(new) <= mirrored(), SECONDS)
    finally:
        run.stop()
