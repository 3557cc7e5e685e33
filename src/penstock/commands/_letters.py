"""Formats one dead letter: as text for people, as JSON for programs."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.kafka.dead_letters import Letter

UNKNOWN = "(unknown)"
_PARTS = {
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
    "connector": "connector.name",
    "task": "task.id",
    "stage": "stage",
    "class": "class.name",
    "exception": "exception.class.name",
    "message": "exception.message",
}


def failure(letter: Letter) -> tuple[str, str, str]:
    """Stage, exception, and the class in which it was raised."""
    stage, exception, plugin = (letter.error_header(name) for name in ("stage", "exception.class.name", "class.name"))
    return stage or UNKNOWN, _simple(exception or ""), _simple(plugin or "")


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def at(letter: Letter) -> str:
    if letter.timestamp is None:
        return ""
    return datetime.fromtimestamp(letter.timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def document(letter: Letter, replayed: bool, whole: bool) -> dict[str, Any]:
    """With ``whole`` also the trace and the record itself. Bytes that are not UTF-8 become ``{"base64": …}``."""
    context = {name: letter.error_header(header) for name, header in _PARTS.items()}
    found: dict[str, Any] = {"record": letter.position, "timestamp": letter.timestamp, "replayed": replayed, **context}
    if whole:
        found["trace"] = letter.error_header("exception.stacktrace")
        found["headers"] = [{"key": key, "value": _readable(value)} for key, value in letter.own_headers]
        found["key"], found["value"] = _readable(letter.key), _readable(letter.value)
    return found


def page(letter: Letter, replayed: bool) -> str:
    lines = [f"Record {letter.position}{', replayed' * replayed}"]
    lines += [
        f"{name + ':':<11} {value}"
        for name, header in _PARTS.items()
        if (value := letter.error_header(header)) is not None
    ]
    if letter.timestamp is not None:
        lines.append(f"{'time:':<11} {at(letter)}")
    if len(lines) <= 2:
        lines.append("The record has no error headers: errors.deadletterqueue.context.headers.enable was not set.")
    lines += [f"header:     {key}={_text(value)}" for key, value in letter.own_headers]
    lines += [f"key:        {_text(letter.key)}", f"value:      {_text(letter.value)}"]
    if trace := letter.error_header("exception.stacktrace"):
        lines += ["trace:", *(f"    {line}" for line in trace.splitlines())]
    return "\n".join(lines)


def _readable(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _text(data: bytes | None) -> str:
    found = _readable(data)
    return "null" if found is None else found if isinstance(found, str) else f"base64:{found['base64']}"
