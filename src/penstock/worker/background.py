"""Long operations of the herder, each done on a thread and answered by ``Completed``."""

from __future__ import annotations

import logging
import secrets
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Protocol, assert_never

import httpx

from penstock.api.errors import ConnectError
from penstock.core.model import actions as a
from penstock.core.model.events import Completed
from penstock.core.model.skips import Skip
from penstock.core.session_keys import key_bytes, signature_headers
from penstock.java.jackson import compact
from penstock.kafka.background import Deadline

log = logging.getLogger(__name__)

Config = Mapping[str, str]

TIMEOUT_S = 90.0
"""Time limit for a plugin's code, equal to that of a REST request."""
MAX_REFUSAL_BYTES, REFUSAL_S = 16_384, 5.0
"""Maximum size of a leader's refusal, and seconds for reading it."""
RUNS_PLUGINS = (a.Validate, a.ReadOffsets, a.WriteOffsets, a.ExamineSkip, a.FenceProducers)
"""Asks that call plugins, such as a connector's class or config providers."""


class ConnectorOffsets(Protocol):
    """Reading and writing the offsets of connectors, source or sink (KIP-875)."""

    def read(self, connector: str, config: Config) -> list[dict[str, Any]]: ...
    def write(
        self, connector: str, config: Config, offsets: tuple[tuple[Any, Any], ...] | None, deadline: Deadline
    ) -> str: ...


class Background:
    """``do`` is called by the worker's loop and returns at once; outcomes are given to ``deliver``."""

    def __init__(
        self,
        threads: Executor,
        deliver: Callable[[Completed], None],
        *,
        validate: Callable[[Mapping[str, str | None]], str | None],
        offsets: ConnectorOffsets,
        fence: Callable[[str, int, Config, Deadline], None],
        skip: Callable[[a.ExamineSkip], tuple[Skip, ...]],
        tls: ssl.SSLContext,
        timeout: float = TIMEOUT_S,
    ) -> None:
        self._threads, self._deliver, self._timeout = threads, deliver, timeout
        self._validate, self._offsets, self._fence, self._skip = validate, offsets, fence, skip
        self._http = httpx.Client(timeout=95, verify=tls, trust_env=False)

    def do(self, ask: a.LongOperation) -> None:
        """The herder ignores the outcome of a call that returns after it has been given up; it changes nothing then."""
        done = self._threads.submit(self._do, ask, Deadline.after(self._timeout))
        if isinstance(ask, RUNS_PLUGINS):
            timer = threading.Timer(self._timeout, self._give_up, (ask,))
            timer.daemon = True
            timer.start()
            done.add_done_callback(lambda _: timer.cancel())

    def _do(self, ask: a.LongOperation, deadline: Deadline) -> None:
        try:
            self._deliver(Completed(ask.token, self._outcome(ask, deadline)))
        except BaseException as error:
            self._deliver(Completed(ask.token, error=as_exception(error)))

    def _give_up(self, ask: a.LongOperation) -> None:
        match ask:
            case a.ReadOffsets(connector) | a.WriteOffsets(connector):
                what = f"Access to the offsets of connector {connector}"
            case a.ExamineSkip(connector):
                what = f"The check of the records that connector {connector} is to skip"
            case a.FenceProducers(connector):
                what = f"Fencing of the tasks of connector {connector}"
            case _:
                what = "Validation of the configuration"
        message = f"{what} has not ended within {self._timeout:g} s."
        log.error("%s Its thread is abandoned", message)
        self._deliver(Completed(ask.token, error=TimeoutError(message)))

    def _outcome(self, ask: a.LongOperation, deadline: Deadline) -> Any:
        match ask:
            case a.Validate(config):
                return self._validate(config)
            case a.ReadOffsets(connector, config):
                return self._offsets.read(connector, config)
            case a.WriteOffsets(connector, config, offsets):
                return self._offsets.write(connector, config, offsets, deadline)
            case a.ExamineSkip():
                return self._skip(ask)
            case a.FenceProducers(connector, tasks, config):
                return self._fence(connector, tasks, config, deadline)
            case a.MakeSessionKey(algorithm, size):
                return secrets.token_bytes(key_bytes(algorithm, size))
            case a.CallLeader():
                return self._call(ask)
            case _:
                assert_never(ask)

    def _call(self, call: a.CallLeader) -> None:
        """Send a request to the leader. Raises ConnectionError with the leader's message if the leader refuses it."""
        if not call.url:
            raise ConnectionError("the leader of the cluster is not known")
        body = b"" if call.body is None else compact.encode(call.body)
        headers = {"Content-Type": "application/json"} if body else {}
        if call.key is not None:
            headers |= signature_headers(call.key, call.algorithm, body)
        path = "/".join(map(_escaped, call.path))
        url = f"{call.url.rstrip('/')}/{path}"
        headers["Accept-Encoding"] = "identity"
        try:
            with self._http.stream(call.method, url, content=body, headers=headers) as answer:
                said = b"" if answer.is_success else _beginning(answer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionError(f"the leader at {call.url} cannot be reached: {error}") from error
        if not answer.is_success:
            message = said.decode(errors="replace")
            raise ConnectionError(f"the leader at {call.url} answered {answer.status_code}: {message}")


def _beginning(answer: httpx.Response) -> bytes:
    """Return the first bytes of a reply as they were sent; what follows, or is slow to, does not matter."""
    said, given_up = b"", time.monotonic() + REFUSAL_S
    for chunk in answer.iter_raw():
        said += chunk
        if len(said) > MAX_REFUSAL_BYTES or time.monotonic() > given_up:
            break
    return said[:MAX_REFUSAL_BYTES]


def _escaped(part: str) -> str:
    """Escape a part of a path; a part that consists of dots would stand for another path."""
    return urllib.parse.quote(part, safe="") if part.strip(".") else part.replace(".", "%2E")


def as_exception(error: BaseException) -> Exception:
    """Return what a plugin raised as an exception that may be raised again. SystemExit and the like would end that
    thread without a trace: the worker's loop, or the server of the REST interface.
    """
    if isinstance(error, Exception):
        return error
    made = ConnectError(": ".join((f"The plugin has raised {type(error).__name__}", *map(str, error.args))))
    made.__cause__ = error
    return made
