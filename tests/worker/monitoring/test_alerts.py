"""The webhook's thread, with a receiver that refuses, hangs or is slow. ``test_alert_webhook.py`` has real workers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.core.attention.rows import NextStep, Row
from penstock.observe import LogLevels
from penstock.settings import WorkerSettings
from penstock.worker.monitoring import alerts
from penstock.worker.monitoring.alerts import AlertWebhook
from penstock.worker.monitoring.history import History
from support.log_levels import levels_kept
from support.rest.cluster import RestCluster
from support.waiting import until
from support.webhook import Receiver

BASE = {
    "bootstrap.servers": "a:9092",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    "offset.storage.file.filename": "/none",
    "penstock.alert.settle.ms": "0",
}


class Worker:
    """A standalone worker's webhook, and what needs attention there; ``looks`` counts the looks at it."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.looks = 0

    def fails(self, *connectors: str) -> None:
        step = NextStep("Look", None, "overview")
        self.rows = [Row("failed", f"{name} has failed", step, name, (0,), "one", 1_000) for name in connectors]

    def here(self) -> dict[str, Any]:
        self.looks += 1
        return {"worker_id": "one", "version": "1", "rows": [row.to_json() for row in self.rows], "busy": []}


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setattr(alerts, "LOOK_S", 0.2)
    monkeypatch.setattr(alerts, "TICK_S", 0.02)
    return Worker()


@pytest.fixture
def hook(worker: Worker) -> Iterator[Callable[[str], Any]]:
    """Runs the webhook of the worker against a URL."""
    with ThreadPoolExecutor(2) as pool, levels_kept():
        cluster = RestCluster(pool, LogLevels())
        cluster.start("one")
        herder = cluster.workers["one"].herder

        @contextmanager
        def running(url: str) -> Iterator[AlertWebhook]:
            settings = WorkerSettings.standalone_of({**BASE, "penstock.alert.webhook.url": url})
            hook = AlertWebhook(settings, herder, worker.here, History(1_000_000))
            hook.start()
            try:
                yield hook
            finally:
                hook.close()

        yield running


def begun(receiver: Receiver) -> set[str]:
    return {each["connector"] for each in receiver.accepted if each["event"] == "begin"}


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_message_that_is_refused_holds_up_no_others(worker: Worker, hook: Any, status: int) -> None:
    worker.fails("poison", "b", "c")
    with Receiver() as receiver:
        receiver.refuse = lambda message: status if message["connector"] == "poison" else None
        with hook(receiver.url):
            until(lambda: begun(receiver) == {"b", "c"}, "the messages that are accepted")
            worker.fails("poison", "b", "c", "d")
            until(lambda: "d" in begun(receiver), "a message that begins later")
        assert len(receiver.accepted) == 3


def test_a_receiver_that_is_down_gets_everything_once_later(worker: Worker, hook: Any) -> None:
    names = [f"c{number}" for number in range(20)]
    worker.fails(*names)
    with Receiver(status=503) as receiver, hook(receiver.url):
        until(lambda: receiver.attempts >= 3, "attempts")
        worker.fails()
        receiver.status = 200
        until(lambda: len(receiver.accepted) == 40, "both messages of each")
        assert len({(each["id"], each["event"]) for each in receiver.accepted}) == 40


def test_a_receiver_that_drips_its_answer_stops_no_look_and_no_end(
    worker: Worker, hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "REQUEST_S", 0.5)
    worker.fails("a")
    over = threading.Event()
    asked = 0

    def drip(server: socket.socket) -> None:
        nonlocal asked
        while not over.is_set():
            connection, _ = server.accept()
            asked += 1
            with connection:
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                    while not over.wait(0.05):
                        connection.sendall(b"x")
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        with hook(f"http://127.0.0.1:{server.getsockname()[1]}"):
            before = worker.looks
            until(lambda: worker.looks > before + 5, "looks while the receiver drips")
        until(lambda: "alerts" not in {each.name for each in threading.enumerate()}, "the end of the thread")
        over.set()
    assert asked


def test_looks_go_on_while_many_messages_are_sent_slowly(worker: Worker, hook: Any) -> None:
    worker.fails(*(f"c{number}" for number in range(30)))
    with Receiver() as receiver:

        def slow(message: dict[str, Any]) -> None:
            time.sleep(0.1)

        receiver.refuse = slow
        with hook(receiver.url):
            until(lambda: len(receiver.accepted) == 30, "all messages")
        assert worker.looks >= 5


def test_a_proxy_that_cannot_be_used_does_not_end_the_thread(
    worker: Worker, hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://proxy")
    worker.fails("a")
    with Receiver() as receiver, hook(receiver.url):
        until(lambda: worker.looks > 3, "looks")
        monkeypatch.delenv("ALL_PROXY")
        until(lambda: receiver.accepted, "the message, once there is no such proxy")
        assert begun(receiver) == {"a"}


@pytest.mark.parametrize("url", ["https://-é-.example/", "https://xn--/"])
def test_a_host_that_no_client_accepts_is_refused(hook: Any, url: str) -> None:
    with pytest.raises(ConfigError, match="has a host that can't be looked up"), hook(url):
        pass
