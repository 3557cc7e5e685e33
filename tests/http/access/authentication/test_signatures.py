"""The signature of a request that one worker passes on to another: for one request, to one worker, once and soon."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from penstock.core.model import messages as m
from penstock.http.access.authentication.forwarded import HEADER, MAX_AGE_S, Forwarded
from penstock.http.access.authentication.principals import Principal

pytestmark = pytest.mark.security
ONE, TWO = "1" * 32, "2" * 40
PAUSE = "/connectors/x/pause"


def request_of(principal: Principal) -> Request:
    return Request({"type": "http", "headers": [], "state": {"principal": principal}})


ADMIN = Principal("worker-2", how="certificate", address="1.2.3.4")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def signed(key: str, to: str, clock: Clock, target: str = PAUSE, body: bytes = b"", method: str = "PUT") -> str:
    made = Forwarded((key.encode(),), "worker-2:1", clock=clock)
    return made.headers(request_of(ADMIN), method, f"http://{to}/", target.encode(), body)[HEADER]


def known(forwarded: Forwarded, header: str, target: str = PAUSE, body: bytes = b"", method: str = "PUT") -> Any:
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(HEADER.lower().encode(), header.encode())],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    try:
        return asyncio.run(forwarded.principal(Request(scope, receive)))
    except m.Refused as refused:
        return refused.status


def test_a_signature_is_for_one_request_to_one_worker() -> None:
    clock = Clock()
    leader = Forwarded((ONE.encode(), TWO.encode()), "leader:8083", clock=clock)
    found = known(leader, signed(ONE, "leader:8083", clock))
    assert (found, found.via) == (ADMIN, "worker-2:1")
    assert known(leader, signed(TWO, "leader:8083", clock)) == ADMIN
    target = f"{PAUSE}?a=b+c&a="
    assert known(leader, signed(ONE, "leader:8083", clock, target), f"{PAUSE}?a=b%20c&a=") == ADMIN
    body = signed(ONE, "leader:8083", clock, body=b"{}")
    for other in (
        known(leader, signed("3" * 32, "leader:8083", clock)),
        known(leader, signed(ONE, "other:8083", clock)),
        known(leader, signed(ONE, "leader:8083", clock), "/connectors/y/pause"),
        known(leader, signed(ONE, "leader:8083", clock), f"{PAUSE}?forward=false"),
        known(leader, signed(ONE, "leader:8083", clock), method="DELETE"),
        known(leader, signed(ONE, "leader:8083", clock, target)),
        known(leader, body, body=b'{"a": 1}'),
        known(leader, body),
        known(leader, signed(ONE, "leader:8083", clock)[:-1]),
        known(leader, "e30=." + signed(ONE, "leader:8083", clock).partition(".")[2]),
        known(leader, "A" * 20_000),
        known(leader, "W10=." + "0" * 64),
    ):
        assert other == 403
    assert known(leader, body, body=b"{}") == ADMIN


def test_a_signature_is_used_once_and_soon() -> None:
    clock = Clock()
    leader = Forwarded((ONE.encode(),), "leader:8083", clock=clock)
    first = signed(ONE, "leader:8083", clock)
    assert known(leader, first) == ADMIN
    clock.now += MAX_AGE_S / 2
    assert known(leader, first) == 403
    late = signed(ONE, "leader:8083", clock)
    clock.now += MAX_AGE_S + 1
    assert known(leader, late) == 403
    assert known(leader, first) == 403
    early = Clock()
    early.now = clock.now + MAX_AGE_S + 1
    assert known(leader, signed(ONE, "leader:8083", early)) == 403
    again = signed(ONE, "leader:8083", clock)
    clock.now += 1
    restarted = Forwarded((ONE.encode(),), "leader:8083", clock=clock)  # it remembers nothing
    assert known(restarted, again) == 403
    for _ in range(3):
        clock.now += MAX_AGE_S
        assert known(leader, signed(ONE, "leader:8083", clock)) == ADMIN
    assert len(leader._seen) <= 3


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_requests_are_forwarded_when_the_clocks_of_all_workers_have_been_set(jump: int) -> None:
    """A worker compared the time of the signature with the time of its start, and refused all for an hour."""
    clock = Clock()
    leader = Forwarded((ONE.encode(),), "leader:8083", clock=clock)
    before = signed(ONE, "leader:8083", clock)
    assert known(leader, before) == ADMIN
    clock.now += jump
    assert known(leader, signed(ONE, "leader:8083", clock)) == ADMIN
    assert known(leader, before) == 403
