"""Properties of large groups on any machine: the tasks that move, and work that grows at most in proportion."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from penstock.core.group.membership import Assignment
from penstock.core.herder import Herder
from penstock.core.model.records import ConfigRecord, ConnectorConfig, TargetState
from scale import assigning, topics
from scale.group import Group, moved
from scale.herding import config_topic, connector_config, leader, status_topic
from support.kafka.client import Kafka
from support.waiting import until


def group(connectors: int = 400, tasks: int = 4000, workers: int = 40) -> Group:
    made = Group.of(connectors, tasks, workers)
    made.settle()
    return made


def test_a_lost_workers_tasks_move_and_no_others() -> None:
    cluster = group()
    before = cluster.places()
    cluster.running.pop("worker-017")
    assert cluster.settle() == 2
    after = cluster.places()
    assert after.keys() == before.keys()
    assert moved(before, after, set(cluster.running)) == 0
    assert {len(running.tasks) for running in cluster.running.values()} <= {102, 103}


def test_a_new_worker_takes_its_share_and_no_more_moves() -> None:
    cluster = group()
    before = cluster.places()
    cluster.running["worker-new"] = Assignment()
    cluster.settle()
    assert moved(before, cluster.places(), set(cluster.running)) == len(cluster.running["worker-new"].tasks) == 97


def test_each_step_is_measured() -> None:
    rows = dict(assigning.run(20, 200, 5))
    assert rows["tasks of a worker"] == "40 to 40"
    assert rows["a worker is lost: other tasks that move"] == "0"


def steps(work: Callable[[], object]) -> int:
    """Return the number of Python's trace events during the work: it grows with the work."""
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def test_an_assignment_takes_time_in_proportion_to_what_there_is() -> None:
    small, large = Group.of(100, 1000, 10), Group.of(400, 4000, 40)
    assert steps(large.decide) < 6 * steps(small.decide)


@pytest.mark.parametrize("change", [TargetState("connector-00007", "PAUSED"), ConnectorConfig("connector-00007", None)])
def test_a_change_of_one_connector_asks_nothing_of_the_others(change: TargetState | ConnectorConfig) -> None:
    def led(connectors: int) -> Herder:
        cluster = Group.of(connectors, 10 * connectors, connectors // 10)
        cluster.settle()
        configs = [ConfigRecord(i, record) for i, record in enumerate(config_topic(cluster.connectors))]
        return leader(cluster, configs, list(status_topic(cluster.connectors)))

    costs = []
    for connectors in (100, 400):
        herder = led(connectors)
        position = herder.state.position
        costs.append(steps(lambda h=herder, p=position: _read(h, p, change)))  # type: ignore[misc]
    assert costs[1] < 4 * costs[0]


def _read(herder: Herder, position: int, change: TargetState | ConnectorConfig) -> None:
    from penstock.core.model.events import ConfigRead

    herder.handle(ConfigRead((ConfigRecord(position, change),)), 2)


@pytest.mark.integration
def test_the_internal_topics_are_written_and_read(kafka: Kafka) -> None:
    rows = dict(topics.run(kafka.bootstrap, {"a": 3, "b": 2}))
    assert rows["config topic, records"] == "9"
    assert rows["status topic, records"] == "9"
    assert rows["offset topic, records"] == "5"
    until(lambda: not any(name.startswith("scale-") for name in kafka.topics()), "the end of its topics")


def test_connectors_have_as_many_settings_as_real_ones() -> None:
    assert len(connector_config("c")) == 8
