"""An active topic whose record could not be written is written when a task reports it again."""

from __future__ import annotations

from penstock.core.model import messages as m
from penstock.core.model.actions import Action, AppendStatus
from penstock.core.model.events import StatusNotWritten
from penstock.core.model.records import StatusTopicRecord, TopicStatus
from penstock.core.model.tasks import TaskId, TopicSeen
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
