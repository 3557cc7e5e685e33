"""What the author of a plugin wants to know of the worker's log: warnings, errors, and all that the plugin says."""

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

    def news(self) -> Iterator[str]:
        """What has been written since the last call, if it concerns an author."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for each in whole.decode(errors="replace").splitlines():
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
        trace = line.get("exception")
        return f"{level} {line['message']} ({logger})" + (f"\n{trace}" if trace else "")
