"""Errors of the client of the REST interface; each text is a sentence for the person at the terminal."""

from __future__ import annotations

import httpx


class ClientError(Exception):
    """Base of the client's errors; a command that ends with one has its ``exit_status``."""

    exit_status = 1


class WorkerError(ClientError):
    """The worker has refused a request, for the reason that is the text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class ResourceNotFoundError(WorkerError):
    """There is no such connector, task, plugin or logger. ``connector``: the one that the request named."""

    exit_status = 3

    def __init__(self, status: int, message: str, connector: str | None = None) -> None:
        super().__init__(status, message)
        self.connector = connector


class LateError(ClientError):
    """A connector has not reached a state in time."""


class UnreachableError(ClientError):
    """No worker answers at the URL, or no broker answers a command that reads Kafka itself."""

    exit_status = 4


def refusal(answer: httpx.Response, connector: str | None) -> WorkerError:
    """Return the error for this reply; ``connector`` is the one that the request named."""
    if answer.status_code == 404:
        return ResourceNotFoundError(404, _message(answer), connector)
    return WorkerError(answer.status_code, _message(answer))


def _message(answer: httpx.Response) -> str:
    """Return the message of an error document, otherwise the text that was sent, otherwise the status."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        said = "" if "html" in answer.headers.get("content-type", "") else answer.text.strip()
        return said[:500] or f"HTTP {answer.status_code} {answer.reason_phrase}"
