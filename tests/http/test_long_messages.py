"""Messages of errors that repeat a large request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

import httpx

from penstock.core.model import messages as m
from penstock.http.app import make_router
from penstock.http.router import LONGEST
from penstock.observe import LONGEST_SECRET

SECRET = "canary-7f3a"


def told(message: str, clean: Callable[[str], str]) -> str:
    """The message of an answer that refuses a request with this one."""

    async def ask() -> str:
        submitted: Future[m.Reply | m.Elsewhere] = Future()
        submitted.set_result(m.Refused(400, message).reply())
        async with httpx.AsyncClient() as others:
            transport = httpx.ASGITransport(make_router(lambda request: submitted, others, clean=clean))
            async with httpx.AsyncClient(transport=transport, base_url="http://one:8083") as client:
                return str((await client.get("/connectors")).json()["message"])

    return asyncio.run(ask())


def test_they_are_shortened_before_secrets_are_looked_for() -> None:
    """A worker may know ten thousand secrets, and answers no other request while it looks for them."""
    looked: list[int] = []

    def clean(text: str) -> str:
        looked.append(len(text))
        return text.replace(SECRET, "[hidden]")

    whole = "x" * LONGEST
    assert told(whole, clean) == whole
    for at in (0, LONGEST - 3, LONGEST + LONGEST_SECRET - 3, 2 * LONGEST):
        shown = told("x" * at + SECRET + "x" * (2**23 - at - len(SECRET)), clean)
        assert shown.endswith("... (8388608 characters)")
        assert "can" not in shown
        assert LONGEST - len(SECRET) < len(shown) < LONGEST + 100
    assert max(looked) == LONGEST + LONGEST_SECRET
