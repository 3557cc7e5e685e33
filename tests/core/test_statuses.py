"""Records of the status topic that could not be written, or would be too large."""

from __future__ import annotations

from penstock.core.model import messages as m
from penstock.core.model.actions import Action, AppendStatus
from penstock.core.model.events import StatusNotWritten
from penstock.core.model.records import StatusTopicRecord, TaskStatus, TopicStatus
from penstock.core.model.tasks import TaskId, TopicSeen
from penstock.core.status.statuses import Statuses
from penstock.kafka.storage.status_records import encode
from simulation.cluster import Cluster
from simulation.ordered import Ordered


def topics(actions: list[Action]) -> list[StatusTopicRecord]:
    records = [record for action in actions if isinstance(action, AppendStatus) for record in action.records]
    return [record for record in records if isinstance(record, TopicStatus)]


def test_a_topic_that_could_not_be_written_is_tried_again() -> None:
    cluster = Ordered()
    cluster.start("a")
    cluster.send("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": "1"}))
    cluster.go_on()
    herder, id = cluster.workers["a"].herder, TaskId("c", 0)
    seen = TopicSeen(id, herder.work.tasks[id].run, "t")
    (record,) = topics(herder.handle(seen, cluster.now))
    assert topics(herder.handle(seen, cluster.now)) == []  # it may be on its way
    herder.handle(StatusNotWritten((record,)), cluster.now)
    assert topics(herder.handle(seen, cluster.now)) == [record]


def test_a_late_end_of_an_earlier_run_does_not_replace_running() -> None:
    """A worker that lost the task has written it before it read that another one runs it."""
    statuses, id = Statuses(), TaskId("c", 0)
    statuses.replay(TaskStatus(id, "RUNNING", "new", 7))
    for generation in (6, 7):
        statuses.replay(TaskStatus(id, "UNASSIGNED", "old", generation))
    assert statuses.task(id) == TaskStatus(id, "RUNNING", "new", 7)
    statuses.replay(TaskStatus(id, "UNASSIGNED", "new", 8))
    assert statuses.task(id) == TaskStatus(id, "UNASSIGNED", "new", 8)


MESSAGE = "\x01\u1234" * 1_000_000


def test_a_long_trace_fits_into_a_record_of_the_status_topic() -> None:
    cluster, task = Cluster([].append, lambda channels: 0), TaskId("c", 0)
    cluster.start("a")
    cluster.send("a", m.PutConfig("c", {"connector.class": "Source", "tasks.max": "1"}))
    cluster.settle()
    cluster.fail(task, f"ValueError: {MESSAGE}\n")
    cluster.settle()
    status = cluster.workers["a"].herder.statuses.task(task)
    assert status is not None
    assert status.state == "FAILED"
    assert status.trace is not None
    assert status.trace.startswith("ValueError: \x01\u1234")
    assert status.trace.endswith("... (1900013 more characters are in the log of the worker)\n")
    assert len(encode(status)[1] or b"") < 1_000_000
