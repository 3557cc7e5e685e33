from __future__ import annotations

from typing import Any

from penstock.core.group.membership import Assignment, CoordinatorFound, CoordinatorUnknown, Failed, Joined
from penstock.core.herder import Herder
from penstock.core.model.actions import Answer
from penstock.core.model.events import CaughtUp, Degraded, Submitted
from penstock.core.model.messages import GetHealth
from penstock.core.model.settings import HerderSettings
from penstock.core.model.tasks import SparkDied, SparkReady

READY = (200, "healthy", "Worker has completed startup and is ready to handle requests.")


def health(herder: Herder) -> tuple[int, str, str]:
    replies: list[Any] = [a.reply for a in herder.handle(Submitted(1, GetHealth()), 0) if isinstance(a, Answer)]
    return replies[0].status, replies[0].body["status"], replies[0].body["message"]


def herder(*events: object) -> Herder:
    made = Herder(HerderSettings(worker_id="w:1"))
    for event in events:
        made.handle(event, 0)
    return made


def joined() -> Joined:
    return Joined(1, "me", 2, Assignment(leader="me", leader_url="http://w:1/"), True)


def test_a_worker_is_ready_once_it_has_joined():
    assert health(herder())[:2] == (503, "starting")
    assert health(herder(CaughtUp())) == (503, "starting", "Worker is still starting up. It is joining.")
    assert health(herder(CaughtUp(), joined())) == READY


def test_a_starting_worker_reports_the_reason_it_waits_for():
    waiting = herder(Degraded("topics", "Reading topic `t` has to wait: no route."))
    assert health(waiting) == (
        503,
        "starting",
        "Worker is still starting up. It is catching up. Reading topic `t` has to wait: no route.",
    )


def test_a_worker_without_its_topics_is_unhealthy():
    worker = herder(CaughtUp(), joined(), Degraded("topics", "Reading topic `t` has to wait."))
    assert health(worker) == (500, "unhealthy", "Reading topic `t` has to wait.")
    worker.handle(Degraded("topics", None), 0)
    assert health(worker) == READY


def test_a_worker_without_its_coordinator_is_unhealthy():
    worker = herder(CaughtUp(), joined(), CoordinatorUnknown("The coordinator can't be reached"))
    assert health(worker) == (500, "unhealthy", "The coordinator can't be reached.")
    worker.handle(CoordinatorFound(), 0)
    assert health(worker) == READY


def test_an_application_of_spark_that_has_ended_is_named_if_tasks_count():
    for counts in (True, False):
        worker = Herder(HerderSettings(worker_id="w:1", health_of_tasks=counts))
        for event in (
            CaughtUp(),
            joined(),
            SparkReady(4),
            SparkReady(4, queries=True),
            SparkDied("it was killed", True),
        ):
            worker.handle(event, 0)
        named = (500, "unhealthy", "Spark for queries is being started again: it was killed.")
        assert health(worker) == (named if counts else READY)
        worker.handle(SparkReady(4, queries=True), 0)
        assert health(worker) == READY


def test_a_worker_refused_by_its_group_is_unhealthy():
    worker = herder(CaughtUp(), Failed("Not authorized to access group: g"))
    assert health(worker) == (500, "unhealthy", "Not authorized to access group: g.")
    worker.handle(joined(), 0)
    assert health(worker) == READY
