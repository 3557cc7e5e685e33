"""Lines of the worker's log for the author of a plugin: warnings, errors, and everything that the plugin logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

_SERIOUS = ("WARN", "ERROR", "FATAL")
_OURS = ("penstock", "py4j", "pyspark", "uvicorn", "httpx")
_FAILURE = re.compile(r"(Task|Connector) \S+ has failed\b")
"""Its trace is in the status, which is shown."""
_RETRIES = re.compile(r" retrying in \d+ ms:")


class WorkerLog:
    """A log of lines of JSON that grows (``penstock.log.format=json``). Used by one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._retried = ""
        """The last one that is retried; it is shown once."""
        self._traces: dict[tuple[str, str], list[str]] = {}
        """The trace that was shown last, by logger and message: the places in code that it names."""

    def news(self) -> Iterator[str]:
        """Yield the lines written since the last call that concern the author."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for each in whole.decode(errors="replace").split("\n"):
            if (said := self._said(each)) is not None:
                yield said

    def _said(self, written: str) -> str | None:
        if not written.startswith("{"):  # of a JVM, which does not write JSON
            return None
        try:
            line = json.loads(written)
            level, logger = line["level"], line["logger"]
        except (ValueError, KeyError):
            return None
        root = logger.partition(".")[0]
        if root == "uvicorn" or (root == "penstock" and _FAILURE.match(line["message"])):
            return None
        if root == "penstock" and _RETRIES.search(line["message"]):
            line["message"] = _RETRIES.sub("", line["message"])
            if line["message"] == self._retried:
                return None
            self._retried = line["message"]
        if level not in _SERIOUS and root in _OURS:
            return None
        message, trace = line["message"], line.get("exception")
        if trace is None and _code(message):  # of a task, whose process has joined them
            message, _, trace = message.partition("\n")
        said = f"{level} {message} ({logger})"
        return said if trace is None else said + self._shown(trace, logger, message)

    def _shown(self, trace: str, logger: str, message: str) -> str:
        """The trace, or its last line if it is the one of the time before, as of what is tried again and again."""
        code, before = _code(trace), self._traces.get((logger, message))
        self._traces[logger, message] = code
        return f": {trace.rstrip().splitlines()[-1]}" if code and code == before else f"\n{trace}"


def _code(trace: str) -> list[str]:
    """The lines of a trace that name places in code, of Python or Java."""
    return [each for each in trace.splitlines() if each.startswith(("  File ", "\tat "))]
