"""Requests to a worker are sent again while its group rebalances, and otherwise not."""

from __future__ import annotations

import httpx
import pytest

from support.worker_process import RestClient

REBALANCES = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)",
    "Cannot complete request because of a conflicting operation (e.g. worker rebalance)",
)


def client(seen: list[bytes], *answers: tuple[int, str]) -> RestClient:
    """Return a client that gets these answers, the last one repeatedly."""
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        status, message = left.pop(0) if len(left) > 1 else left[0]
        return httpx.Response(status, json={"error_code": status, "message": message})

    return RestClient(base_url="http://worker", transport=httpx.MockTransport(answer))


def test_a_request_is_sent_again_while_the_group_rebalances() -> None:
    seen: list[bytes] = []
    with client(seen, *((409, message) for message in REBALANCES), (201, "")) as http:
        assert http.put("/connectors/c/config", json={"a": "b"}).status_code == 201
    assert len(seen) == 3
    assert len(set(seen)) == 1


@pytest.mark.parametrize("answer", [(409, "Connector c already exists"), (500, REBALANCES[0]), (404, "")])
def test_other_answers_are_final(answer: tuple[int, str]) -> None:
    seen: list[bytes] = []
    with client(seen, answer) as http:
        assert http.post("/connectors", json={}).status_code == answer[0]
    assert len(seen) == 1


def test_a_group_that_rebalances_for_ever_is_given_up() -> None:
    seen: list[bytes] = []
    with client(seen, (409, REBALANCES[0])) as http:
        http.patience = 0.05
        assert http.delete("/connectors/c").status_code == 409
    assert len(seen) > 1
