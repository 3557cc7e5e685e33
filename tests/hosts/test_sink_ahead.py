"""Pipelining of a sink from a jar: it fetches records while others are put, and queues their put behind that one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from hosts.conducted import Sinks, values
from penstock.api.batch import Batch
from penstock.hosts.jvm.tasks.sink_task import BegunPut, JavaSinkTask
from penstock.pipeline.sink import puts
from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON, eventually

pytestmark = pytest.mark.integration

THREE = {"consumer.override.max.poll.records": "3"}


class Noting(JavaSinkTask):
    """Records for each put whether another one was running."""

    notes: list[bool]

    def begin_put(self, batch: Batch, converters: Mapping[str, Any] | None = None, behind: bool = False) -> BegunPut:
        self.notes.append(behind)
        return super().begin_put(batch, converters, behind)


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch) -> type[Noting]:
    monkeypatch.setattr(puts, "QUICK_SECONDS", 60.0)  # on a busy machine every put would count as slow
    return type("Noting", (Noting,), {"notes": []})


def test_records_fetched_during_a_put_are_put_after_it(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    lines = [str(i) for i in range(300)]
    lines[100] = "pause"
    kafka.produce(topic, lines)
    retriable = {f"at.put@{i}": "throw org.apache.kafka.connect.errors.RetriableException not yet" for i in (20, 60)}
    with sinks.run(topic, pause__at="pause", timeout__ms="50", **retriable, **THREE):
        eventually(lambda: values(sinks.written)[-1:] == lines[-1:])
        assert sinks.calls("resume")
    assert values(sinks.written) == lines
    assert max(map(int, sinks.calls("put"))) == 3


def test_records_fetched_before_a_rewind_are_fetched_again(sinks: Sinks, kafka: Kafka, topic: str) -> None:
    lines = [str(i) for i in range(100)]
    kafka.produce(topic, lines)
    with sinks.run(topic, rewind__once__at="50", **THREE):
        eventually(lambda: values(sinks.written)[-1:] == lines[-1:])
    found = values(sinks.written)
    before = len(found) - len(lines)
    assert 50 < before <= 53
    assert found == lines[:before] + lines


def test_partitions_move_while_records_are_fetched_and_put(
    bootstrap: str, kafka: Kafka, tmp_path: Path, conduct: str
) -> None:
    topic, lines = kafka.create_topic(partitions=4), [str(i) for i in range(600)]
    records = [Record(line, partition=i % 4) for i, line in enumerate(lines)]
    kafka.produce(topic, records[:400])
    first, second = (Sinks(bootstrap, tmp_path / name, conduct) for name in ("first", "second"))
    config = {"consumer.override.group.id": f"g-{topic}", "at.put": "sleep 20", **THREE}
    for each in (first, second):
        each.folder.mkdir()
    with first.run(topic, **config):
        eventually(lambda: first.written)
        with second.run(topic, **config):
            eventually(lambda: second.calls("open"))
            kafka.produce(topic, records[400:])
            eventually(lambda: second.written)
        eventually(lambda: len(first.written) + len(second.written) >= len(lines))
    assert sorted(values(first.written + second.written)) == sorted(lines)
    for each in (first, second):
        for number in range(4):
            found = [int(value) for place, value in map(str.split, each.written) if f"{topic}-{number}@" in place]
            assert found == sorted(found)


def test_a_put_is_begun_while_another_one_runs(sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting]) -> None:
    lines = [str(i) for i in range(60)]
    kafka.produce(topic, lines)
    with sinks.run(topic, task=noting, **THREE):
        eventually(lambda: values(sinks.written) == lines)
    assert sum(noting.notes) > 10


def test_none_is_begun_behind_a_slow_one(
    sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(puts, "QUICK_SECONDS", 0.1)
    lines = [str(i) for i in range(18)]
    kafka.produce(topic, lines)
    with sinks.run(topic, task=noting, **THREE, **{"at.put": "sleep 150"}):
        eventually(lambda: values(sinks.written) == lines)
    assert not any(noting.notes)


def test_nothing_is_put_after_a_put_that_fails(sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting]) -> None:
    lines = [str(i) for i in range(60)]
    kafka.produce(topic, lines)
    run = sinks.run(topic, task=noting, **THREE, **{"at.put@9": "throw java.lang.IllegalStateException on purpose"})
    assert "on purpose" in run.failure()
    assert sum(noting.notes) > 3
    assert len(sinks.calls("put")) == 9
    assert values(sinks.written) == lines[:24]


def test_reports_of_errant_records_that_nothing_tolerates_hold_up_no_end(
    sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting]
) -> None:
    kafka.produce(topic, ["bad" if i >= 30 else str(i) for i in range(60)])
    config = {"errant": "bad", "swallow": "true", "errors.log.enable": "true"}
    failure = sinks.run(topic, task=noting, **THREE, **config).failure()
    assert "Tolerance exceeded in error handler" in failure
    assert sum(noting.notes) > 3
    assert sinks.calls("stop")


def test_records_that_can_not_be_converted_change_no_order(
    sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting]
) -> None:
    bad = range(10, 290, 17)
    kafka.produce(topic, ["{" if i in bad else str(i) for i in range(300)])
    config = {"value.converter": JSON, "value.converter.schemas.enable": "false", "errors.tolerance": "all"}
    with sinks.run(topic, task=noting, **config, **THREE):
        eventually(lambda: values(sinks.written)[-1:] == ["299"])
    assert values(sinks.written) == [str(i) for i in range(300) if i not in bad]
    assert sum(noting.notes) > 10


def test_a_commit_is_of_all_that_was_put(sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting]) -> None:
    kafka.produce(topic, [str(i) for i in range(300)])
    with sinks.run(topic, {"offset.flush.interval.ms": "50"}, task=noting, **THREE, **{"at.put": "sleep 2"}):
        eventually(lambda: len(sinks.written) == 300)
    assert sum(noting.notes) > 10
    words = [line.split(" ", 1) for line in sinks.journal]
    counts = list(accumulate(int(rest[0]) if name == "put" else 0 for name, *rest in words))
    commits = [
        (int(match[1]), put)
        for (name, *rest), put in zip(words, counts, strict=True)
        if name == "flush" and (match := re.search(r"offset=(\d+)", rest[0]))
    ]
    assert len(commits) > 2
    assert [offset for offset, _ in commits] == [put for _, put in commits]


def test_a_put_begun_before_a_stop_is_committed(sinks: Sinks, kafka: Kafka, topic: str, noting: type[Noting]) -> None:
    lines = [str(i) for i in range(300)]
    kafka.produce(topic, lines)
    same = {"consumer.override.group.id": f"g-{topic}", "at.put": "sleep 10", **THREE}
    for times in range(1, 4):
        with sinks.run(topic, task=noting, **same):
            eventually(lambda: len(sinks.written) > 60 * times)  # noqa: B023
    with sinks.run(topic, task=noting, **same):
        eventually(lambda: values(sinks.written)[-1:] == lines[-1:])
    assert values(sinks.written) == lines
    assert sum(noting.notes) > 10
