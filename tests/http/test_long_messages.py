"""Messages of errors that repeat a large request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

import httpx

from penstock.core.model import messages as m
from penstock.http.app import make_router
from penstock.http.router import MAX_MESSAGE, NAMES_ONLY
from penstock.observe import MAX_SECRET_LENGTH

SECRET = "canary-7f3a"


def told(message: str, clean: Callable[[str], str], status: int = 400) -> str:
    """Return the message of an answer to a request that is refused with this message."""

    async def ask() -> str:
        submitted: Future[m.Reply | m.Elsewhere] = Future()
        submitted.set_result(m.Refused(status, message).reply())
        async with httpx.AsyncClient(verify=False) as others:
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

    whole = "x" * MAX_MESSAGE
    assert told(whole, clean) == whole
    for at in (0, MAX_MESSAGE - 3, MAX_MESSAGE + MAX_SECRET_LENGTH - 3, 2 * MAX_MESSAGE):
        shown = told("x" * at + SECRET + "x" * (2**23 - at - len(SECRET)), clean)
        assert shown.endswith("... (8388608 characters)")
        assert "can" not in shown
        assert MAX_MESSAGE - len(SECRET) < len(shown) < MAX_MESSAGE + 100
    assert max(looked) == MAX_MESSAGE + MAX_SECRET_LENGTH


def test_secrets_are_removed_whatever_the_error_unless_its_message_has_names_alone() -> None:
    for status in (*range(400, 432), 451, *range(500, 512)):
        shown = told(f"with {SECRET}", lambda text: text.replace(SECRET, "[hidden]"), status)
        assert shown == ("with [hidden]" if status not in NAMES_ONLY else f"with {SECRET}"), status
