"""Formats one dead letter as lines for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.kafka.letters.queue import Letter


def at(letter: Letter) -> str:
    if letter.timestamp is None:
        return ""
    return datetime.fromtimestamp(letter.timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def page(letter: Letter, replayed: bool) -> list[str]:
    """Return the lines of a letter's page."""
    from penstock.kafka.letters.queue import PARTS

    lines = [f"Record {letter.position}{', replayed' * replayed}"]
    lines += [
        f"{name + ':':<11} {value}"
        for name, header in PARTS.items()
        if (value := letter.error_header(header)) is not None
    ]
    if letter.timestamp is not None:
        lines.append(f"{'time:':<11} {at(letter)}")
    if len(lines) <= 2:
        lines.append("The record has no error headers: errors.deadletterqueue.context.headers.enable was not set.")
    lines += [f"header:     {key}={_text(value)}" for key, value in letter.own_headers]
    lines += [f"key:        {_text(letter.key)}", f"value:      {_text(letter.value)}"]
    if trace := letter.error_header("exception.stacktrace"):
        lines += ["trace:", *(f"    {line}" for line in trace.rstrip("\n").split("\n"))]
    return lines


def _text(data: bytes | None) -> str:
    from penstock.kafka.letters.queue import readable

    found = readable(data)
    return "null" if found is None else found if isinstance(found, str) else f"base64:{found['base64']}"
