"""Assertions on error responses of the REST API."""

from __future__ import annotations

import httpx


def assert_refused(answer: httpx.Response, status: int, message: str) -> None:
    """Check the body that every error response has, wherever in the worker it was made."""
    assert (answer.status_code, answer.json()) == (status, {"error_code": status, "message": message})
    assert answer.headers["content-type"] == "application/json"
