"""A broker whose disk is full: it ends, and the records come once it has room again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.broker import FaultyBroker
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 300
SIZE = 50_000
NUMBERS = 400


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 220 MB; only root can make one."""
    where = tmp_path / "faulty" / "broker"
    where.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=220m", "tmpfs", str(where)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def counting(topic: str) -> Any:
    class Counting(SourceTask):
        def start(self, config: dict[str, str]) -> None:
            self.next = 0

        def poll(self) -> list[SourceRecord] | None:
            if self.next >= NUMBERS:
                return None
            number, self.next = self.next, self.next + 1
            place = {"source_partition": {"p": 0}, "source_offset": {"o": number}}
            return [SourceRecord(topic=topic, value=f"{number} ".ljust(SIZE, "."), **place)]

        def idle(self) -> float:
            return 0.01

    Counting.__module__ = __name__
    return Counting


def test_records_wait_for_a_broker_whose_disk_is_full_and_come_when_there_is_room(small_disk: Path) -> None:
    with FaultyBroker(small_disk.parent) as broker:
        kafka = Kafka(broker.bootstrap)
        topic = kafka.create_topic(new_name("t"))
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            free = os.statvfs(small_disk)
            file.write(bytes(max(free.f_bavail * free.f_frsize - NUMBERS * SIZE // 2, 0)))
        with TaskRun(counting(topic), broker.bootstrap, {}, connector=new_name()) as run:
            until(lambda: not broker.running, "the end of the broker", SECONDS)
            run.turns("aborted", 20)
            stored = [offset["o"] for _, offset in run.host.stored]
            assert max(stored, default=-1) < NUMBERS - 1
            filler.unlink()
            broker.kill_and_start()
            eventually(lambda: len(kafka.values(topic)) >= NUMBERS, SECONDS)
            eventually(lambda: run.host.stored and run.host.stored[-1][1]["o"] == NUMBERS - 1, SECONDS)
        numbers = [int((value or b"").split()[0]) for value in kafka.values(topic)]
    assert sorted(set(numbers)) == list(range(NUMBERS))
