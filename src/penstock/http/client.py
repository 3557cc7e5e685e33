"""The client of a worker's REST interface, for the commands, the demo and tests.

One method for one request. Answers are JSON values; every failure is a ``ClientError`` whose text is a sentence for the
person at the terminal. During a rebalance workers answer 409; the client retries for ``patience`` seconds.
"""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Self

import httpx

from penstock.http.client_errors import (
    ClientError,
    ResourceNotFoundError,
    UnreachableError,
    WorkerError,
    refusal,
)
from penstock.http.client_urls import connector_in, escaped, flags, without_login

DEFAULT_URL = "http://localhost:8083"
TIMEOUT_S = 100.0
"""Seconds to wait for a reply, longer than a worker takes to reply that a request has timed out."""
PATIENCE_S = 30.0
CHECK_MORE_S = 30
"""Seconds beyond the time limit of a check for its process to start, and to be killed."""
MOMENTARILY = "Cannot complete request"
"""Start of the message of a 409 that ends with the rebalance; a connector that exists already is a 409, too."""
LATE = "Request timed out"
"""Start of the message of a 500 for a request that the worker still carries out."""
_PAUSES = (0.1, 0.2, 0.5, 1.0)


@cache
def _certificates(file: str | None, folder: str | None, authority: str | None) -> ssl.SSLContext:
    """Return what httpx trusts with these values of SSL_CERT_FILE and SSL_CERT_DIR, which takes time to read, and the
    certificates in the file ``authority``.
    """
    context = httpx.create_ssl_context()
    if authority is not None:
        context.load_verify_locations(authority)
    return context


class Client:
    """A client of the worker at ``url``; any worker of a cluster will do. Close it, or use it in a ``with`` statement.

    ``user`` is ``name:password``, which the URL may have, too; the client's ``url`` is without, since errors show it.
    Requests that fail because of a rebalance are retried for ``patience`` seconds. ``authority`` is a file of
    certificates in PEM, which are trusted beside the machine's.
    Every method raises ClientError.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        user: str | None = None,
        patience: float = PATIENCE_S,
        timeout: float = TIMEOUT_S,
        authority: str | None = None,
    ) -> None:
        address, in_url = without_login(url)
        self.url = address.rstrip("/")
        self._patience = patience
        name, _, password = (user or "").partition(":")
        auth = (name, password) if user else in_url
        single = httpx.Limits(max_keepalive_connections=0)  # a kept connection may be closed just as it is used
        try:
            context = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"), authority)
            self._http = httpx.Client(timeout=timeout, auth=auth, limits=single, verify=context)
        except OSError as error:  # certificates that the environment or an option names
            raise UnreachableError(f"No TLS client can be created for the worker at {self.url}: {error}.") from error
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise UnreachableError(
                f"The worker at {self.url} can't be asked by the proxy that the environment names, in HTTP_PROXY, "
                f"HTTPS_PROXY or ALL_PROXY: {_bare(error)}."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        *path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        within: float | None = None,
    ) -> Any:
        """Send any request; the parts of its path are escaped here. None for an answer without a body.

        ``within``: seconds for the answer and for retries, instead of the client's own limits.
        """
        url = "/".join([self.url, *map(escaped, path)])
        timeout = self._http.timeout if within is None else httpx.Timeout(within)
        give_up, tried = time.monotonic() + (self._patience if within is None else within), 0
        while True:
            try:
                return self._once(method, url, query, body, connector_in(path), timeout)
            except WorkerError as error:
                if error.status != 409 or not error.message.startswith(MOMENTARILY) or time.monotonic() > give_up:
                    raise
            time.sleep(_PAUSES[min(tried, len(_PAUSES) - 1)])
            tried += 1

    def _once(
        self,
        method: str,
        url: str,
        query: Mapping[str, Any] | None,
        body: Any,
        connector: str | None,
        timeout: httpx.Timeout,
    ) -> Any:
        try:
            answer = self._http.request(method, url, params=query, json=body, timeout=timeout)
        except httpx.TimeoutException as error:
            raise UnreachableError(f"The worker at {self.url} has not answered {method} {url} in time.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(f"No worker can be reached at {self.url}: {_bare(error)}.") from error
        if answer.is_success:
            return self._json(answer) if answer.content else None
        raise refusal(answer, connector)

    def _json(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError as error:
            raise UnreachableError(
                f"The server at {self.url} is not a Connect worker: it does not send JSON."
            ) from error

    # -- the worker

    def root(self) -> dict[str, Any]:
        """Return ``version``, ``commit``, ``kafka_cluster_id``."""
        return self.request("GET", "")

    def healthy(self) -> bool:
        """Return whether the worker has started and is in its group (KIP-1017); False too if nothing answers."""
        try:
            return bool(self.request("GET", "health")["status"] == "healthy")
        except ClientError:
            return False

    def plugins(self, connectors_only: bool = True, unusable: bool = False) -> list[dict[str, Any]]:
        """Return the plugins; with ``unusable`` also those that cannot be used, each with its ``problem``."""
        query = {"connectorsOnly": str(connectors_only).lower(), **flags(penstock="true" if unusable else "")}
        return self.request("GET", "connector-plugins", query=query)

    def validate(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        """Return every setting with its errors, their number in ``error_count``, and ``warnings`` in ``penstock``."""
        plugin = config.get("connector.class") or ""
        path = ("connector-plugins", _simple_name(plugin), "config", "validate")
        return self.request("PUT", *path, query=flags(penstock="true"), body=config)

    def loggers(self) -> dict[str, dict[str, Any]]:
        return self.request("GET", "admin", "loggers")

    def set_logger(self, name: str, level: str, *, cluster: bool = False) -> None:
        """Set the level of a logger on this worker (KIP-495), or with ``cluster`` on all (KIP-976)."""
        self.request(
            "PUT", "admin", "loggers", name, query=flags(scope="cluster" if cluster else ""), body={"level": level}
        )

    # -- connectors

    def connectors(self) -> list[str]:
        return self.request("GET", "connectors")

    def expanded(self, *expand: str, penstock: bool = False) -> dict[str, dict[str, Any]]:
        """Return every connector with its ``status`` or its ``info``, or both. With ``penstock`` the status has lag and
        retries of tasks in the field of that name, if it is a worker of Penstock.
        """
        return self.request("GET", "connectors", query={"expand": expand, **({"penstock": "true"} if penstock else {})})

    def described(self) -> dict[str, dict[str, Any]]:
        """Return every connector with its ``info``, and its ``status`` if it has one. ``expanded`` leaves out those
        without, which have just been created.
        """
        found, statuses = self.expanded("info"), self.expanded("status")
        return {name: {**shown, **statuses.get(name, {})} for name, shown in found.items()}

    def connector(self, name: str) -> dict[str, Any]:
        """Return ``name``, ``config``, ``tasks``, ``type``."""
        return self.request("GET", "connectors", name)

    def config(self, name: str) -> dict[str, str]:
        return self.request("GET", "connectors", name, "config")

    def status(self, name: str, *, penstock: bool = False, within: float | None = None) -> dict[str, Any]:
        """Return the status; with ``penstock`` also the health of the tasks, in the field of that name, if the worker
        is Penstock's. ``within`` is that of ``request``.
        """
        return self.request("GET", "connectors", name, "status", query=flags(penstock=penstock), within=within)

    def create(
        self,
        name: str,
        config: Mapping[str, str | None],
        initial_state: str | None = None,
        initial_offsets: Iterable[Mapping[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Create the connector.

        ``initial_state``: ``RUNNING``, ``PAUSED``, ``STOPPED`` (KIP-980); ``initial_offsets`` is KIP-995.
        """
        body: dict[str, Any] = {"name": name, "config": dict(config)}
        if initial_state is not None:
            body["initial_state"] = initial_state
        if initial_offsets is not None:
            body["initial_offsets"] = list(initial_offsets)
        return self.request("POST", "connectors", body=body)

    def put_config(self, name: str, config: Mapping[str, str | None]) -> dict[str, Any]:
        """Create the connector or change its configuration."""
        return self.request("PUT", "connectors", name, "config", body=dict(config))

    def patch_config(self, name: str, changes: Mapping[str, str | None]) -> dict[str, Any]:
        """Change single settings of the connector; those that are None are removed (KIP-477)."""
        return self.request("PATCH", "connectors", name, "config", body=dict(changes))

    def history(self, name: str) -> dict[str, Any]:
        """Return the ``versions`` of its configuration and target state, newest first.

        Not in Java, like the methods below.
        """
        return self._penstock("GET", name, "history")

    def version(self, name: str, number: int) -> dict[str, Any]:
        return self._penstock("GET", name, "history", str(number))

    def version_difference(self, name: str, number: int, since: int | None = None) -> dict[str, Any]:
        """Return the difference to the version ``since``, by default to the one before."""
        query = {} if since is None else {"from": since}
        return self._penstock("GET", name, "history", str(number), "diff", query=query)

    def events(self, name: str) -> dict[str, Any]:
        """Return the ``events`` of it and its tasks, newest first."""
        return self._penstock("GET", name, "events")

    def roll_back(self, name: str, number: int | None = None) -> dict[str, Any]:
        query = {} if number is None else {"version": number}
        return self._penstock("POST", name, "rollback", query=query)

    def attention(self) -> dict[str, Any]:
        """Return ``rows``: what needs attention, the most urgent first."""
        return self.request("GET", "penstock", "v1", "attention")

    def bulk(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Preview or begin an action on many connectors; ``body`` as in ``/openapi.json``."""
        return self.request("POST", "penstock", "v1", "bulk", body=body)

    def bulk_progress(self, id: str) -> dict[str, Any]:
        return self.request("GET", "penstock", "v1", "bulk", id)

    def workers(self) -> dict[str, Any]:
        """Return the ``workers`` of the group, its ``leader``, and those ``unreachable``."""
        return self.request("GET", "penstock", "v1", "workers")

    def preview(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a configuration would do to real records; ``body`` as in ``/openapi.json``."""
        return self.request("POST", "penstock", "v1", "preview", body=body)

    def check(self, name: str, config: Mapping[str, Any] | None = None, seconds: int = 30) -> dict[str, Any]:
        """Return the steps of a check of the target of a configuration, or of the connector's present one."""
        within = seconds + CHECK_MORE_S
        if config is None:
            path, query = ("penstock", "v1", "connectors", name, "check"), {"seconds": str(seconds)}
            return self.request("POST", *path, query=query, within=within)
        body = {"name": name, "config": config, "seconds": seconds}
        return self.request("POST", "penstock", "v1", "check", body=body, within=within)

    def records(self, name: str, **query: str | int | None) -> dict[str, Any]:
        """Return records of a topic of a connector; ``query`` as in ``/openapi.json``, with ``start`` for ``from``."""
        given = {"from" if key == "start" else key: str(value) for key, value in query.items() if value is not None}
        return self.request("GET", "penstock", "v1", "connectors", name, "records", query=given)

    def planned_replay(self, name: str, record: str, topic: str | None) -> dict[str, Any]:
        """Return what a replay of one dead letter would do. ``topic``: for a record that does not name its topic."""
        body = {"records": [record], "dry_run": True, **({} if topic is None else {"topic": topic})}
        return self.request("POST", "penstock", "v1", "connectors", name, "dead-letters", "replay", body=body)

    def skips(self, name: str) -> list[dict[str, Any]]:
        """Return the records that a sink leaves out and has not passed yet."""
        found: list[dict[str, Any]] = self._penstock("GET", name, "skips")["skips"]
        return found

    def skip(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Let a sink leave out records; ``body`` as in ``/openapi.json``."""
        return self.request("POST", "penstock", "v1", "connectors", name, "skips", body=body)

    def cancel_skips(self, name: str) -> None:
        self._penstock("DELETE", name, "skips")

    def planned_offsets(self, name: str, to: str, topics: Sequence[str] = ()) -> dict[str, Any]:
        """Return where a sink would begin after a reset; ``to``: ``earliest``, ``latest`` or a time."""
        body = {"to": to, **({"topics": [*topics]} if topics else {})}
        return self.request("POST", "penstock", "v1", "connectors", name, "offsets", "plan", body=body)

    def logs(self, name: str, query: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last log ``lines`` of it and its tasks; None if the worker is Java's."""
        try:
            return self._penstock("GET", name, "logs", query=query)
        except ResourceNotFoundError:
            return None

    def follow_logs(self, name: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the last log lines and those that follow, until the connector is deleted or the caller stops."""
        url = "/".join([self.url, "penstock/v1/connectors", escaped(name), "logs/stream"])
        try:
            with self._http.stream("GET", url, params=query, timeout=httpx.Timeout(TIMEOUT_S, read=60)) as answer:
                if not answer.is_success:
                    answer.read()
                    raise refusal(answer, name)
                for line in answer.iter_lines():
                    if line.startswith("event: end"):
                        return
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(f"No worker can be reached at {self.url}: {_bare(error)}.") from error

    def _penstock(self, method: str, name: str, *path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.request(method, "penstock", "v1", "connectors", name, *path, query=query)

    def delete(self, name: str) -> None:
        self.request("DELETE", "connectors", name)

    def pause(self, name: str) -> None:
        self.request("PUT", "connectors", name, "pause")

    def resume(self, name: str) -> None:
        self.request("PUT", "connectors", name, "resume")

    def stop(self, name: str) -> None:
        self.request("PUT", "connectors", name, "stop")

    def restart(self, name: str, *, include_tasks: bool = False, only_failed: bool = False) -> dict[str, Any] | None:
        """Restart, and return the status, with RESTARTING for what is restarted; None for the connector alone
        (KIP-745).
        """
        query = flags(includeTasks=include_tasks, onlyFailed=only_failed)
        return self.request("POST", "connectors", name, "restart", query=query)

    def restart_task(self, name: str, task: int) -> None:
        self.request("POST", "connectors", name, "tasks", str(task), "restart")

    # -- their topics and offsets

    def topics(self, name: str) -> list[str]:
        """Return the topics that the connector has used (KIP-558)."""
        return self.request("GET", "connectors", name, "topics")[name]["topics"]

    def reset_topics(self, name: str) -> None:
        self.request("PUT", "connectors", name, "topics", "reset")

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """Return objects with ``partition`` and ``offset`` (KIP-875)."""
        return self.request("GET", "connectors", name, "offsets")["offsets"]

    def committed(self, name: str) -> dict[tuple[str, int], int]:
        """Return the offset of a sink connector's group in each partition."""
        pairs = ((pair["partition"], pair["offset"]) for pair in self.offsets(name))
        return {(p["kafka_topic"], p["kafka_partition"]): o["kafka_offset"] for p, o in pairs}

    def alter_offsets(self, name: str, offsets: Iterable[Mapping[str, Any]]) -> str:
        """Alter the offsets of a stopped connector; returns the worker's message."""
        return self.request("PATCH", "connectors", name, "offsets", body={"offsets": list(offsets)})["message"]

    def reset_offsets(self, name: str) -> str:
        return self.request("DELETE", "connectors", name, "offsets")["message"]


def _bare(error: Exception) -> str:
    return str(error).rstrip(".")


def _simple_name(plugin: str) -> str:
    return plugin.rpartition(".")[2]
