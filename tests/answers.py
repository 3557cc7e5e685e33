"""What a worker's REST interface has answered."""

from __future__ import annotations

import httpx


def assert_refused(answer: httpx.Response, status: int, message: str) -> None:
    """Errors are JSON of this form, whoever makes them."""
    assert (answer.status_code, answer.json()) == (status, {"error_code": status, "message": message})
    assert answer.headers["content-type"] == "application/json"
