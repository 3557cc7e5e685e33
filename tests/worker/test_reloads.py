"""Restarts of connectors when values of config providers expire."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future

import pytest

from penstock.core.model.events import ConfigRead
from penstock.core.model.messages import Elsewhere, Reply, RestartConnector
from penstock.core.model.records import ConfigRecord, ConnectorConfig
from penstock.worker.configuration import reloads as reloads_module
from penstock.worker.configuration.reloads import Reloads

LONG_MS = 3_600_000
LONG_S = 3600.0

Answer = Future[Reply | Elsewhere]


def never(request: RestartConnector) -> Answer:
    pytest.fail(f"{request} is too early")


def test_a_connector_is_restarted_when_values_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloads_module, "MIN_SECONDS", 0.0)
    submitted: queue.SimpleQueue[RestartConnector] = queue.SimpleQueue()

    def submit(request: RestartConnector) -> Answer:
        submitted.put(request)
        return Future()

    reloads = Reloads(submit)
    for name, config in (("a", {}), ("b", {"config.action.reload": "RESTART"})):
        reloads.starts(name, config, 1)
        assert submitted.get() == RestartConnector(name)
    reloads.close()


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> list[threading.Timer]:
    """The timers that have been started and not cancelled."""
    timers: list[threading.Timer] = []
    monkeypatch.setattr(threading.Timer, "start", lambda timer: timers.append(timer))
    monkeypatch.setattr(threading.Timer, "cancel", lambda timer: timers.remove(timer))
    return timers


def test_a_restart_that_is_refused_is_logged(waiting: list[threading.Timer], caplog: pytest.LogCaptureFixture) -> None:
    answer: Answer = Future()
    answer.set_result(Reply(500, {"message": "Failed to start connector: a"}))
    Reloads(lambda request: answer).starts("a", {}, LONG_MS)
    (timer,) = waiting
    timer.function(*timer.args)
    said = "Connector a could not be restarted after a config provider's value expired: "
    said += "{'message': 'Failed to start connector: a'}"
    assert said in caplog.messages
    assert waiting == [timer]


def test_a_restart_that_a_rebalance_prevents_is_tried_again(waiting: list[threading.Timer]) -> None:
    answer: Answer = Future()
    answer.set_result(Reply(409, {"message": "a rebalance is due"}))
    Reloads(lambda request: answer).starts("a", {}, LONG_MS)
    (timer,) = waiting
    timer.function(*timer.args)
    assert [timer.interval for timer in waiting] == [LONG_S, reloads_module.MIN_SECONDS]


def test_a_restart_that_a_rebalance_prevents_is_not_tried_again_after_another_start(
    waiting: list[threading.Timer],
) -> None:
    answer: Answer = Future()
    reloads = Reloads(lambda request: answer)
    reloads.starts("a", {}, LONG_MS)
    (timer,) = waiting
    timer.function(*timer.args)
    reloads.starts("a", {}, 2 * LONG_MS)
    answer.set_result(Reply(409, {"message": "a rebalance is due"}))
    assert [timer.interval for timer in waiting] == [2 * LONG_S]


def test_values_that_have_expired_at_once_bring_no_storm_of_restarts(waiting: list[threading.Timer]) -> None:
    Reloads(never).starts("a", {}, 0)
    assert [timer.interval for timer in waiting] == [reloads_module.MIN_SECONDS]


def test_a_connector_that_is_started_again_waits_again(waiting: list[threading.Timer]) -> None:
    reloads = Reloads(never)
    reloads.starts("a", {}, LONG_MS)
    reloads.starts("b", {}, 2 * LONG_MS)
    reloads.starts("a", {}, 3 * LONG_MS)
    assert [timer.interval for timer in waiting] == [2 * LONG_S, 3 * LONG_S]
    reloads.starts("b", {}, None)
    assert [timer.interval for timer in waiting] == [3 * LONG_S]
    reloads.close()
    reloads.starts("a", {}, LONG_MS)
    assert waiting == []


def test_a_connector_that_wants_none_is_not_restarted(waiting: list[threading.Timer]) -> None:
    Reloads(never).starts("a", {"config.action.reload": "none"}, LONG_MS)
    assert waiting == []


def test_nothing_waits_for_the_values_of_a_deleted_connector(waiting: list[threading.Timer]) -> None:
    reloads = Reloads(never)
    reloads.starts("a", {}, LONG_MS)
    reloads.starts("b", {}, 2 * LONG_MS)
    for deleted in ("a", "c"):
        reloads.observe(ConfigRead((ConfigRecord(7, ConnectorConfig(deleted, None)),)))
    reloads.observe(ConfigRead((ConfigRecord(8, ConnectorConfig("b", {})),)))
    assert [timer.interval for timer in waiting] == [2 * LONG_S]
