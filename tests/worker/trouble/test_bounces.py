"""Workers that are bounced while plugins print a lot: ``connect_distributed_test.py::test_bounce`` of Kafka."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.tasks.runs import new_name
from support.waiting import SECONDS, until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TASKS = 2
PLUGIN = Path(__file__).parent / "plugins" / "printing.py"
PROGRESS = 300
"""Records of each task between two bounces."""


@pytest.mark.parametrize("clean", [True, False])
def test_nothing_is_lost_though_workers_are_bounced_under_plugins_that_print(
    bootstrap: str, kafka: Kafka, tmp_path: Path, clean: bool
) -> None:
    topic, group = kafka.create_topic(partitions=2), new_name()
    # A stopped worker leaves its group. A busy one could exceed a short session timeout, and write twice.
    session = "60000" if clean else "6000"
    shared = {
        "group__id": group,
        **{f"{kind}__storage__topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
        "exactly__once__source__support": "disabled",
        "plugin__path": str(PLUGIN),
        "session__timeout__ms": session,
        "scheduled__rebalance__max__delay__ms": "2000",
    }
    source, sink = new_name(), new_name()
    with ExitStack() as stack:
        workers = [stack.enter_context(WorkerProcess(bootstrap, tmp_path, **shared)) for _ in range(2)]
        first = workers[0]
        first.put(source, connector__class="printing.PrintingSource", tasks__max=str(TASKS), topic=topic)
        first.put(
            sink,
            connector__class="printing.PrintingSink",
            tasks__max=str(TASKS),
            topics=topic,
            file=str(tmp_path / "flushed"),
            consumer__override__session__timeout__ms=session,
        )

        def flushed() -> list[str]:
            return [line for path in tmp_path.glob("flushed-*") for line in path.read_text().splitlines()]

        def progress() -> None:
            before = {task: _highest(flushed(), task) for task in range(TASKS)}
            until(
                lambda: all(_highest(flushed(), task) >= before[task] + PROGRESS for task in before),
                "progress of both connectors",
                SECONDS,
            )

        progress()
        for worker in (*workers, *workers):
            if clean:
                assert worker.stop() == 0
            else:
                worker.kill()
            worker.start().ready()
            progress()
        for name in (source, sink):
            workers[0].running(name, TASKS)
            assert workers[1].http.put(f"/connectors/{name}/stop").status_code == 204
            until(lambda: workers[0].states(name) == ["STOPPED"], f"{name} has stopped", SECONDS)  # noqa: B023
            if name == source:
                until(lambda: set(flushed()) == set(_values(kafka, topic)), "all records in the sink", SECONDS)
    assert not [line for line in "".join(each.log.read_text() for each in workers).splitlines() if "has failed" in line]
    for found in (_values(kafka, topic), flushed()):
        counts = Counter(found)
        for task in range(TASKS):
            assert [each for each in range(_highest(found, task)) if f"{task} {each}" not in counts] == []
        if clean:
            assert [each for each, count in counts.items() if count > 1] == []


def _highest(values: list[str], task: int) -> int:
    return max((int(each.split()[1]) for each in values if each.startswith(f"{task} ")), default=0)


def _values(kafka: Kafka, topic: str) -> list[str]:
    return [(record.value or b"").decode() for record in kafka.read_all(topic) if isinstance(record.value, bytes)]
