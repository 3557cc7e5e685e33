"""The client, where the commands' tests don't come."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from penstock.http.client import Client
from penstock.http.client_errors import ResourceNotFoundError, UnreachableError, WorkerError
from support.rest.cluster import RestCluster
from support.rest.server import serve

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


class Answers:
    """Returns these answers one after the other, the last one repeatedly, and records the requests."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, dict[bytes, bytes]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append((scope["method"], scope["raw_path"].decode(), dict(scope["headers"])))
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        kind = b"text/plain" if isinstance(body, bytes) else b"application/json"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": body if isinstance(body, bytes) else orjson.dumps(body)})


REBALANCE = (409, {"error_code": 409, "message": "Cannot complete request momentarily due to stale configuration"})
EXISTS = (409, {"error_code": 409, "message": "Connector a already exists"})


def test_a_rebalance_is_waited_for() -> None:
    app = Answers(REBALANCE, REBALANCE, (200, ["a"]))
    with serve(app) as url, Client(url) as worker:
        assert worker.connectors() == ["a"]
    assert len(app.asked) == 3


def test_but_not_for_ever() -> None:
    with serve(Answers(REBALANCE)) as url, Client(url, patience=0.3) as worker, pytest.raises(WorkerError) as refused:
        worker.connectors()
    assert refused.value.status == 409


def test_other_conflicts_do_not_pass_by_themselves() -> None:
    app = Answers(EXISTS)
    with serve(app) as url, Client(url) as worker, pytest.raises(WorkerError, match=r"^Connector a already exists$"):
        worker.create("a", CONFIG)
    assert len(app.asked) == 1


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (
            (404, {"error_code": 404, "message": "Connector a not found"}),
            ResourceNotFoundError,
            "Connector a not found",
        ),
        ((401, b"User cannot access the resource."), WorkerError, "User cannot access the resource."),
        ((502, b""), WorkerError, "HTTP 502 Bad Gateway"),
        ((200, b"<html>"), UnreachableError, "is not a Connect worker: it does not send JSON."),
    ],
)
def test_errors_have_the_workers_message(answer: tuple[int, Any], error: type[Exception], text: str) -> None:
    with serve(Answers(answer)) as url, Client(url) as worker, pytest.raises(error) as told:
        worker.status("a")
    assert str(told.value).endswith(text)


def test_credentials_are_sent() -> None:
    app = Answers((200, []))
    with serve(app) as url, Client(url, user="ann:se:cret") as worker:
        worker.connectors()
    assert app.asked[0][2][b"authorization"] == b"Basic YW5uOnNlOmNyZXQ="


@pytest.mark.parametrize("proxy", ["socks5://localhost:1080", "nothing://x", "http://a:b:c"])
def test_a_proxy_that_can_not_be_used(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(
        UnreachableError, match=r"^The worker at http://w can't be asked by the proxy .*ALL_PROXY: .*\.$"
    ):
        Client("http://w")


def test_a_password_in_the_url_is_sent_and_not_shown() -> None:
    app = Answers((200, []))
    with serve(app) as url, Client(url.replace("://", "://ad%40a:se@cret@")) as worker:
        assert worker.connectors() == []
        assert worker.url == url
    sent = base64.b64decode(app.asked[0][2][b"authorization"].removeprefix(b"Basic "))
    assert sent == b"ad@a:se@cret"
    with Client("http://ada:secret@127.0.0.1:1/") as nobody, pytest.raises(UnreachableError) as raised:
        nobody.connectors()
    assert str(raised.value).startswith("No worker can be reached at http://127.0.0.1:1: ")


def test_no_worker_at_all() -> None:
    for url in ("http://127.0.0.1:1", "127.0.0.1", "http://"):
        with Client(url) as worker:
            assert not worker.healthy()
            with pytest.raises(UnreachableError):
                worker.connectors()


@pytest.mark.parametrize("name", ["a b", "a/b", "ä%", "..", "a?b#c", "a+b"])
def test_names_of_any_characters(cluster: RestCluster, name: str) -> None:
    with serve(cluster.app("one")) as url, Client(url) as worker:
        worker.create(name, CONFIG)
        assert worker.config(name) == {**CONFIG, "name": name}
        worker.delete(name)
        assert worker.connectors() == []


def test_the_rest_of_the_interface(cluster: RestCluster) -> None:
    with serve(cluster.app("one")) as url, Client(url) as worker:
        assert worker.root()["kafka_cluster_id"] == "the-cluster"
        assert worker.healthy()
        assert worker.create("a", CONFIG, "STOPPED")["type"] == "source"
        assert worker.status("a")["connector"]["state"] == "STOPPED"
        assert worker.validate(CONFIG)["error_count"] == 1  # it has no name
        assert worker.put_config("a", {**CONFIG, "file": "g"})["config"]["file"] == "g"
        worker.set_logger("penstock.connectors.file", "INFO")
        assert worker.loggers()["penstock.connectors.file"]["level"] == "INFO"
