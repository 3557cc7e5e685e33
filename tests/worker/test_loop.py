"""The worker's loop: the consequences of an exception in it, and its reports."""

from __future__ import annotations

import logging
import queue
import ssl
import sys
from concurrent.futures import Future
from typing import Any, cast

import pytest

from penstock.api.errors import ConnectError
from penstock.core.herder import Herder
from penstock.core.model.actions import Action, StopTask, Validate
from penstock.core.model.events import Completed
from penstock.core.model.local_requests import ValidateConfig
from penstock.core.model.messages import ListConnectors, Reply
from penstock.core.model.settings import HerderSettings
from penstock.core.model.tasks import TaskId
from penstock.threads import Threads
from penstock.worker.background import Background
from penstock.worker.local import LocalAnswers
from penstock.worker.loop import Loop, Parts
from support.waiting import until


class Faulty(Herder):
    """Raises an exception for one event, and wants for another what can't be carried out."""

    def __init__(self) -> None:
        super().__init__(HerderSettings(worker_id="w"))
        self.handled: list[object] = []

    def handle(self, event: object, now: int) -> list[Action]:
        self.handled.append(event)
        if event == "fault":
            raise ValueError("a fault of ours")
        if event == "validate":
            return [Validate({"name": "c", "database.password": "canary-7f3a"}, token=1)]
        return [StopTask(TaskId("c", 0))] if event == "stop" else []


class Nothing:
    """Stands for parts that do nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Tasks:
    def stop(self, id: TaskId) -> None:
        raise ValueError(f"{id} cannot be stopped")


class Exhausted:
    """Stands for the background of a worker that gets no more threads."""

    def do(self, ask: Action) -> None:
        raise RuntimeError("can't start new thread")


@pytest.fixture
def failures() -> list[Exception]:
    return []


def started(herder: Herder, failures: list[Exception]) -> Loop:
    loop, nothing = Loop(herder, failures.append), cast(Any, Nothing())
    loop.start(
        Parts(
            foundation=nothing,
            connectors=nothing,
            tasks=cast(Any, Tasks()),
            background=cast(Any, Exhausted()),
            local=nothing,
            set_log_level=nothing.any,
            store_offsets=nothing.any,
            observe=nothing.any,
        )
    )
    return loop


@pytest.mark.parametrize(
    ("event", "trace"), [("fault", "a fault of ours"), ("stop", "c-0 cannot be stopped")], ids=["herder", "action"]
)
def test_an_exception_ends_the_worker_with_its_trace(
    failures: list[Exception], caplog: pytest.LogCaptureFixture, event: str, trace: str
) -> None:
    herder = Faulty()
    loop = started(herder, failures)
    waiting = loop.submit(ListConnectors())
    with caplog.at_level(logging.CRITICAL):
        loop.deliver(event)
        until(lambda: failures != [], "the loop has failed")
    assert [str(failure) for failure in failures] == [trace]
    assert "The worker's loop has failed; the worker is stopping" in caplog.text
    assert f"ValueError: {trace}" in caplog.text
    loop.deliver("after")
    late = loop.submit(ListConnectors())
    for answer in (waiting, late):
        reply = answer.result(900)
        assert isinstance(reply, Reply)
        assert (reply.status, reply.body["message"]) == (500, "The worker has failed and is stopping")
    assert loop.shut_down(10) is False
    assert "after" not in herder.handled


def test_a_failing_ask_is_logged_without_its_configuration(
    failures: list[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    herder = Faulty()
    loop = started(herder, failures)
    loop.deliver("validate")
    until(lambda: any(isinstance(each, Completed) for each in herder.handled), "the outcome")
    assert "The worker could not carry out Validate" in caplog.text
    assert "can't start new thread" in caplog.text
    assert "canary-7f3a" not in caplog.text
    loop.shut_down(0)


def exiting(*args: object) -> Any:
    sys.exit(2)


def test_a_plugin_that_exits_ends_neither_the_loop_nor_the_server() -> None:
    """An error is raised again where it is awaited, and there SystemExit would end the thread without a word."""
    outcomes: queue.SimpleQueue[Completed] = queue.SimpleQueue()
    nothing = cast(Any, Nothing())
    tls = ssl.create_default_context()
    Background(Threads(), outcomes.put, validate=exiting, offsets=nothing, fence=exiting, skip=exiting, tls=tls).do(
        Validate({}, token=1)
    )
    local = LocalAnswers(
        Threads(),
        nothing,
        nothing,
        cluster_id=exiting,
        check_plugin=exiting,
        validate=exiting,
        set_level=exiting,
        history=nothing,
        preview=exiting,
        dead_letters=exiting,
        offset_plans=exiting,
        topic_records=exiting,
        check=exiting,
    )
    answer: Future[Any] = Future()
    local.answer(ValidateConfig("C", {"connector.class": "C"}, False), answer)
    for error in (outcomes.get(timeout=900).error, answer.exception(900)):
        assert isinstance(error, ConnectError)
        assert str(error) == "The plugin has raised SystemExit: 2"
