"""Limits of the requests that one client may have in progress, so that others are served."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.access.gate import authentication
from penstock.http.access.limits import BODIES_AT_ONCE, BODIES_OF_ADDRESS, Bodies
from penstock.http.access.shares import AT_ONCE, OF_PLUGINS, OF_PROCESSES
from penstock.http.app import make_router
from support.waiting import SECONDS

pytestmark = pytest.mark.security
PREVIEW, VALIDATE = "/penstock/v1/preview", "/connector-plugins/X/config/validate"
CONFIG = {"name": "c", "connector.class": "X"}


class Slow:
    """A worker that answers requests only after ``go``; ``asked`` has the requests that it has received."""

    def __init__(self, folder: Path) -> None:
        hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
        (folder / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in ("vic", "ada")))
        guard = authentication({"penstock.authentication.htpasswd": str(folder / "htpasswd")}, {})
        self.asked: list[tuple[m.Request, Future[Any]]] = []
        self.app = make_router(self._submit, httpx.AsyncClient(verify=False), guard=guard)

    def _submit(self, request: m.Request) -> Future[Any]:
        answer: Future[Any] = Future()
        self.asked.append((request, answer))
        return answer

    def users(self) -> Counter[str | None]:
        return Counter(request.principal for request, answer in self.asked if not answer.done())

    def go(self) -> None:
        for _, answer in self.asked:
            if not answer.done():
                answer.set_result(m.Reply(200, {}))

    def client(self, user: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app)
        return httpx.AsyncClient(transport=transport, base_url="http://one", auth=(user, "right"), timeout=900)


async def logged_in(slow: Slow, *clients: httpx.AsyncClient) -> None:
    """Log the clients in one by one: the passwords of many at once would be refused, those of later requests are
    cached.
    """
    for client in clients:
        first = asyncio.create_task(client.get("/"))
        while not first.done():
            slow.go()
            await asyncio.sleep(0.01)


async def reached(holds: Callable[[], bool]) -> None:
    """Wait until this holds or the time is over; the assertions that follow then show what is missing."""
    give_up = time.monotonic() + SECONDS
    while not holds() and time.monotonic() < give_up:
        await asyncio.sleep(0.01)


async def settled() -> None:
    """Wait a moment, for events that should not happen."""
    for _ in range(20):
        await asyncio.sleep(0.01)


def test_validations_of_a_user_wait_for_each_other(tmp_path: Path) -> None:
    async def run() -> None:
        slow = Slow(tmp_path)
        async with slow.client("vic") as vic, slow.client("ada") as ada:
            await logged_in(slow, vic, ada)
            many = [asyncio.create_task(vic.put(VALIDATE, json=CONFIG)) for _ in range(40)]
            await reached(lambda: slow.users() == {"vic": AT_ONCE[OF_PLUGINS]})
            await settled()
            assert slow.users() == {"vic": AT_ONCE[OF_PLUGINS]}
            one = asyncio.create_task(ada.put(VALIDATE, json=CONFIG))
            other = asyncio.create_task(vic.get("/connectors"))
            await reached(lambda: slow.users() == {"vic": AT_ONCE[OF_PLUGINS] + 1, "ada": 1})
            await settled()
            assert slow.users() == {"vic": AT_ONCE[OF_PLUGINS] + 1, "ada": 1}
            while not all(task.done() for task in (*many, one, other)):
                slow.go()
                await asyncio.sleep(0.01)
            assert {task.result().status_code for task in (*many, one, other)} == {200}

    asyncio.run(run())


def test_previews_of_a_user_are_refused_beyond_its_share(tmp_path: Path) -> None:
    async def run() -> None:
        slow = Slow(tmp_path)
        async with slow.client("vic") as vic, slow.client("ada") as ada:
            body = {"name": "c", "config": CONFIG}
            many = [asyncio.create_task(vic.post(PREVIEW, json=body)) for _ in range(6)]
            await reached(lambda: sum(task.done() for task in many) == len(many) - AT_ONCE[OF_PROCESSES])
            await settled()
            refused = [task.result() for task in many if task.done()]
            assert [answer.status_code for answer in refused] == [429] * (6 - AT_ONCE[OF_PROCESSES])
            assert (
                "The user vic has 2 previews, searches of records or checks under way" in refused[0].json()["message"]
            )
            one = asyncio.create_task(ada.post(PREVIEW, json=body))
            await reached(lambda: slow.users() == {"vic": AT_ONCE[OF_PROCESSES], "ada": 1})
            await settled()
            assert slow.users() == {"vic": AT_ONCE[OF_PROCESSES], "ada": 1}
            slow.go()
            await asyncio.wait({*many, one})
            assert one.result().status_code == 200
            again = asyncio.create_task(vic.post(PREVIEW, json=body))
            await reached(lambda: slow.users() == {"vic": 1})
            slow.go()
            assert (await again).status_code == 200

    asyncio.run(run())


def test_large_bodies_of_an_address_leave_room() -> None:
    bodies = Bodies(1000)
    for _ in range(BODIES_OF_ADDRESS):
        bodies.take(1000, 1000, "10.0.0.1")
    with pytest.raises(m.Refused, match=r"10\.0\.0\.1") as refused:
        bodies.take(1, 1, "10.0.0.1")
    assert refused.value.status == 503
    for number in range(BODIES_AT_ONCE - BODIES_OF_ADDRESS):
        bodies.take(1000, 1000, f"10.0.1.{number}")
    with pytest.raises(m.Refused):
        bodies.take(1, 1, "10.0.2.1")
    bodies.give_back(1000, "10.0.0.1")
    bodies.take(1000, 1000, "10.0.0.1")
