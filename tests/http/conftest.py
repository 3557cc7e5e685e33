"""The REST interface over a cluster in memory: real herders, real plugins, no Kafka, no sockets."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.access.cross_origin import ChangesByOthers, CrossOrigin, Origins
from penstock.http.access.response_headers import ResponseHeaders, header_rules
from penstock.http.app import make_router
from penstock.http.router import Guard
from penstock.http.server import RestServer
from penstock.observe import LogLevels
from support.certificates import Authority
from support.log_levels import levels_kept
from support.rest.cluster import RestCluster


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


class Api:
    """A client of one worker; its requests are answered before it goes on."""

    def __init__(self, app: Any, url: str = "http://one:8083") -> None:
        self._app, self._url = app, url

    def __call__(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url=self._url, verify=False) as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self("GET", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self("POST", path, **given)

    def put(self, path: str, **given: Any) -> httpx.Response:
        return self("PUT", path, **given)

    def patch(self, path: str, **given: Any) -> httpx.Response:
        return self("PATCH", path, **given)

    def delete(self, path: str, **given: Any) -> httpx.Response:
        return self("DELETE", path, **given)


Serve = Callable[..., RestServer]


@functools.cache
def trusting_little() -> dict[str, str]:
    """Settings of a worker that does not trust what the system trusts, which takes long to read."""
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": Authority.make().certificate_pem}


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that answer every request with its name, or with ``answer``, on a free port by default."""
    started = []

    def start(config: dict[str, str], answer: Any = None, **more: Any) -> RestServer:
        def submit(request: m.Request) -> Future[m.Reply | m.Elsewhere]:
            future: Future[m.Reply | m.Elsewhere] = Future()
            future.set_result(answer or m.Reply(200, type(request).__name__))
            return future

        trusted = {} if any("ssl." in key for key in config) else trusting_little()
        given = {"listeners": "http://127.0.0.1:0"} | trusted | config
        server = RestServer(given, submit, environment={}, **more)
        started.append(server)
        server.start()
        return server

    yield start
    # All at once: a server that ends waits for connections over TLS that another one keeps.
    with ThreadPoolExecutor() as threads:
        for stopped in [threads.submit(server.stop, 5) for server in started]:
            stopped.result()


@pytest.fixture
def cluster(pool: ThreadPoolExecutor) -> Iterator[RestCluster]:
    """Workers ``one`` and ``two``; ``one`` leads."""
    cluster = RestCluster(pool, LogLevels())
    cluster.start("one")
    cluster.start("two")
    with levels_kept():
        yield cluster


@pytest.fixture
def api(cluster: RestCluster) -> Api:
    """A client of the leader."""
    return Api(cluster.app("one"))


@pytest.fixture
def other(cluster: RestCluster) -> Api:
    """A client of the worker that does not lead."""
    return Api(cluster.app("two"), "http://two:8083")


@pytest.fixture
def configured() -> Callable[..., Api]:
    """A client of an application with these settings, which is healthy, and answers other requests with 200 and their
    names.
    """

    def make(config: Mapping[str, str], guard: Guard | None = None) -> Api:
        def submit(request: m.Request) -> Future[m.Reply | m.Elsewhere]:
            answer: Future[m.Reply | m.Elsewhere] = Future()
            health = isinstance(request, m.GetHealth)
            answer.set_result(m.Reply(200, {"status": "healthy"} if health else type(request).__name__))
            return answer

        app: Any = make_router(submit, httpx.AsyncClient(verify=False), guard=guard, metrics=lambda: b"up 1\n")
        app = ResponseHeaders(app, header_rules(config))
        origins = Origins.of(config)
        return Api(ChangesByOthers(app if origins is None else CrossOrigin(app, origins), origins))

    return make
