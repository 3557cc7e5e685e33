"""``GET /penstock/v1/connectors/{name}/records``: what a request must be; topics are read in ``tests/worker``."""

from __future__ import annotations

import socket
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from penstock.core.model import local_requests as local
from penstock.http.app import make_router
from support.rest.server import serve
from support.waiting import SECONDS

PATH = "/penstock/v1/connectors/c/records"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", local.ListRecords("c")),
        (
            "topic=t&partition=1&from=earliest&limit=7&search=x&seconds=3",
            local.ListRecords("c", "t", 1, "earliest", (), 7, "x", 3),
        ),
        ("partition=0&from=0:2,1:3", local.ListRecords("c", None, 0, "earliest", ((0, 2), (1, 3)))),
        (f"topic={'x' * 249}", local.ListRecords("c", "x" * 249)),
        ("from=1970-01-01T00:00:01Z", local.ListRecords("c", start=1000)),
        ("from=1970-01-01T00:00:01", local.ListRecords("c", start=1000)),
        ("from=0:1200,12:0", local.ListRecords("c", start="earliest", offsets=((0, 1200), (12, 0)))),
        ("limit=100000&seconds=100000", local.ListRecords("c", limit=500, seconds=30)),
        ("limit=0&seconds=0", local.ListRecords("c", limit=1, seconds=1)),
    ],
)
def test_a_request_is_passed_on(api: Any, cluster: Any, query: str, expected: local.ListRecords) -> None:
    api.get(f"{PATH}?{query}")
    assert cluster.record_requests == [expected]


def test_a_client_that_closes_its_connection_is_reported() -> None:
    asked: SimpleQueue[local.ListRecords] = SimpleQueue()

    def submit(request: Any) -> Future[Any]:
        asked.put(request)
        return Future()

    app = make_router(submit, httpx.AsyncClient(verify=False))
    with serve(app) as url:
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.sendall(f"GET {PATH} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
            left = asked.get().left
            assert left is not None
            assert not left.done()
        left.result(SECONDS)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from=yesterday", "The query parameter from must be latest, earliest, a time"),
        ("from=0:-1", "The query parameter from must be latest"),
        ("from=0:1,", "The query parameter from must be latest"),
        ("from=1960-01-01", "The query parameter from must be latest"),
        ("partition=-1", "The query parameter partition must be a number"),
        ("limit=many", "The query parameter limit must be a number"),
        ("partition=0&from=1:0", "The query parameter from names no offset of partition 0"),
        ("topic=..", "The query parameter topic must be a name that a topic of Kafka can have"),
        ("topic=t%00x", "The query parameter topic must be a name"),
        ("topic=t%0A", "The query parameter topic must be a name"),
        (f"topic={'x' * 250}", "The query parameter topic must be a name"),
        (f"search={'x' * 1001}", "The query parameter search may have 1000 characters"),
    ],
)
def test_a_request_that_is_wrong_is_refused(api: Any, cluster: Any, query: str, said: str) -> None:
    answer = api.get(f"{PATH}?{query}")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(said)
    assert cluster.record_requests == []
