"""Sends a configuration to a worker that may be busy, and shortens its errors about a wrong one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.unknown.similar_names import similar
from penstock.http.client import LATE, Client
from penstock.http.client_errors import UnreachableError
from penstock.threads import Threads

PATIENCE_SECONDS = 150
"""Seconds for which the configuration is put again; a worker takes 90 s to answer that it has not accepted it yet."""


class Put:
    """Gives a worker a connector's configuration, in the background; again while no answer comes in time, since what
    that request asked for may still happen, or be refused.

    A plugin's ``task_configs`` that fails is tried again by the worker until the request times out, and meanwhile its
    error is in the log.
    """

    def __init__(self, client: Client, name: str, config: Mapping[str, str | None]) -> None:
        self.name, self.config = name, config
        self.late = False
        """Whether an answer has not come in time."""
        self._client = client
        self._until = time.monotonic() + PATIENCE_SECONDS
        self._answer = self._asked()

    def done(self) -> bool:
        """Whether there is an answer, or none is waited for any longer."""
        if not self._answer.done():
            return False
        error = self._answer.exception()
        if isinstance(error, UnreachableError) or str(error).startswith(LATE):
            self.late = True
            if time.monotonic() < self._until:
                self._answer = self._asked()
                return False
        return True

    def result(self) -> None:
        """Raises ClientError, as ``Client.put_config`` does; call it when it is ``done``."""
        self._answer.result()

    def _asked(self) -> Future[Any]:
        return Threads().submit(self._client.put_config, self.name, self.config)


_NO_CONNECTOR = re.compile(
    r".*Failed to find any class that implements Connector and which name matches (\S+), "
    r".*?(\. Did you mean '[^{}]+'\?)?",
    re.DOTALL,
)
_NO_TYPE = re.compile(r"Connector config \{.*\} contains no connector type", re.DOTALL)
_ENDPOINT = re.compile(r"\nYou can also find the above list of errors at the endpoint `[^`]*`")


def in_short(message: str, config: Mapping[str, str | None]) -> str:
    """``message`` for its reader at a terminal."""
    if missing := _NO_CONNECTOR.fullmatch(message):
        meant = missing[2] or ". A plugin that can't be loaded is named above, with the reason."
        return f"There is no connector `{missing[1]}`, which {CONNECTOR_CLASS} names{meant}"
    if _NO_TYPE.fullmatch(message):
        given = next((name for name in config if similar(name, [CONNECTOR_CLASS])), None)
        return f"{CONNECTOR_CLASS} is missing" + (f"; is it meant by `{given}`?" if given else ".")
    return _ENDPOINT.sub("", message)
