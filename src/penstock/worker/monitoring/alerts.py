"""Alerts by webhook: the group's leader posts a message when something begins to need attention, and one when it ends.

A thread of its own does all of it: the worker does not wait for the receiver. Alerts are stored in the history topic
before their messages are sent, and when those have been accepted, so the next leader sends what is missing with the
same id. The other workers store there the rows that only they know.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from penstock import __version__
from penstock.api.errors import ConfigError
from penstock.core.attention.alerts import RECENT_MS, RESTLESS_MS, Alert, Alerts, Settling, StoredEntry, WorkerRows
from penstock.core.attention.rows import NextStep, Row, rank
from penstock.core.herder import Herder
from penstock.core.model.state import PAUSED
from penstock.http.access.authentication.forwarded import id_of
from penstock.java.jackson import compact
from penstock.settings import WorkerSettings
from penstock.settings.alerts import CA, HEADER, SETTLE, URL, header_of
from penstock.threads import Threads
from penstock.worker.monitoring.attention import Attention
from penstock.worker.monitoring.history import RETENTION, History, now_ms

log = logging.getLogger(__name__)

LOOK_S, TICK_S = 10.0, 1.0
"""Seconds between two looks at the rows, and between two attempts to send at least."""
REQUEST_S, CLOSE_S = 10.0, 2.0
MAX_BACKOFF_S, WARN_S = 60.0, 60.0
MAX_IN_A_ROW, MAX_REFUSALS = 3, 5
"""Refusals one after the other after which all messages wait; and attempts for a message that is called malformed."""
MALFORMED = (400, 413, 415, 422)
PUBLISH_MS, STALE_MS = 3_600_000, 3 * 3_600_000
"""Times after which a worker stores unchanged rows again, and from which on those of another worker are not used."""
MAX_ROWS_BYTES = 400_000
SYMPTOMS = ("standstill", "silent")
"""Kinds of rows that other workers' tasks of the same connector may refute."""


class AlertWebhook:
    """``start`` and ``close`` are called by the worker. ``here`` gives the rows that only this worker knows."""

    def __init__(
        self,
        settings: WorkerSettings,
        herder: Herder,
        here: Callable[[], Mapping[str, Any]],
        history: History,
        clean: Callable[[str], str] = str,
    ) -> None:
        """``clean`` removes secrets. Raises ConfigError for a file of certificates that can't be used."""
        config = settings.config
        self._url, self._headers = config[URL].strip(), header_of(config.get(HEADER, "").strip())
        parts = urlsplit(self._url)
        self._receiver = f"{parts.scheme}://{parts.netloc}"
        """What may be logged of the URL."""
        if parts.scheme == "http" and self._headers:
            log.warning("The header of `%s` is sent unencrypted, because `%s` is not https", HEADER, URL)
        try:
            _ = httpx.URL(self._url).host
        except (httpx.InvalidURL, ValueError):
            raise ConfigError(f"`{URL}` has a host that can't be looked up; expected https://host/path") from None
        self._tls = _trusted(config.get(CA))
        self._herder, self._here, self._history, self._clean = herder, here, history, clean
        self._group = settings.group.group_id if settings.group else "standalone"
        self._distributed = settings.distributed
        takeover = settings.group.scheduled_rebalance_max_delay_ms if settings.group else 0
        again = min(24 * 3_600_000, settings.values[RETENTION] // 2)
        self._lock = threading.Lock()
        self._alerts = Alerts(self._group, settings.values[SETTLE], takeover, again)
        self._attention = Attention(herder, ends=history.ends)
        self._rows: dict[str, WorkerRows] = {}
        """The last rows of each worker of the group."""
        self._published: tuple[Any, int] | None = None
        self._settling = Settling(settings.values[SETTLE], takeover + RESTLESS_MS)
        self._unstored: dict[str, Alert] = {}
        self._attempts: dict[tuple[str, bool], tuple[int, float]] = {}
        """Refusals of a message, by alert and whether its begin was told, and when it is sent again."""
        self._reported = 0, 0
        self._retry_at = self._backoff = self._look_at = 0.0
        self._threads = Threads()
        self._client: httpx.Client | None = None
        self._warned = -WARN_S
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
        history.watch(self._stored)

    @classmethod
    def of(
        cls,
        settings: WorkerSettings,
        herder: Herder,
        here: Callable[[], Mapping[str, Any]],
        history: History,
        clean: Callable[[str], str] = str,
    ) -> Self | None:
        """Return the webhook of the settings; None if they name none. Raises ConfigError."""
        return cls(settings, herder, here, history, clean) if settings.config.get(URL, "").strip() else None

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_S)

    # -- the thread

    def _run(self) -> None:
        while not self._closing.wait(TICK_S):
            try:
                if time.monotonic() >= self._look_at:
                    self._look_at = time.monotonic() + LOOK_S
                    self._look()
                if self._leads() and self._history.is_ready and time.monotonic() >= self._retry_at:
                    self._send_due()
            except Exception:
                log.exception("Alerts could not be looked for or sent; that is tried again")
        if self._client is not None:
            self._client.close()

    def _leads(self) -> bool:
        return not self._distributed or self._herder.membership.is_leader

    def _look(self) -> None:
        own = self._here()
        if self._distributed:
            self._publish(own)
        if not self._leads() or not self._history.is_ready:
            with self._lock:
                self._alerts.resign()
            return
        now, state = now_ms(), self._herder.state
        failures = {
            place: ends
            for place, ends in self._history.failures_since(now - RECENT_MS).items()
            if place[0] in state.connectors
        }
        rows = self._found(own, now)
        with self._lock:
            changed = self._alerts.look(
                rows, failures, now, self._is_settled(), lambda name: state.target_state(name) == PAUSED
            )
            left_out, given_up = self._alerts.left_out, self._alerts.given_up
        if (left_out, given_up) != self._reported:
            self._reported = left_out, given_up
            log.warning(
                "%d causes have no alert, since there are too many of their kind; %d were given up", *self._reported
            )
        self._store(changed)

    def _store(self, changed: Iterable[Alert]) -> None:
        """Store alerts, and those whose last change could not be stored."""
        self._unstored |= {alert.id: alert for alert in changed}
        if self._history.keep(list(self._unstored.values())):
            self._unstored.clear()

    def _found(self, own: Mapping[str, Any], now: int) -> list[Row]:
        """Return the rows of the whole group; a row says which workers have not told theirs."""
        membership, answers = self._herder.membership, {self._herder.settings.worker_id: own}
        mute = []
        for url in membership.known_workers if self._distributed else ():
            worker = id_of(url)
            if worker in answers:
                continue
            told = self._rows.get(worker)
            if told is None or now - told.time_ms > STALE_MS:
                mute.append(_mute(worker))
                answers[worker] = {"worker_id": worker, "version": __version__, "rows": [], "busy": []}
            else:
                answers[worker] = told.answer
        return [*self._attention.found(answers), *mute]

    def _is_settled(self) -> bool:
        if not self._distributed:
            return True
        membership = self._herder.membership
        assignment = membership.assignment
        waits = assignment is None or bool(assignment.delay_ms) or membership.awaited is not None
        generation = membership.generation, membership.leader_term
        return self._settling.look(generation, waits, int(time.monotonic() * 1000))

    # -- what is stored

    def _publish(self, own: Mapping[str, Any]) -> None:
        """Store the rows that only this worker knows, if they are others than before."""
        doubted = {
            row["connector"]
            for answer in (own, *(each.answer for each in list(self._rows.values())))
            for row in answer["rows"]
            if row["kind"] in SYMPTOMS
        }
        busy = sorted(doubted.intersection(own["busy"]))
        rows = _within(own["rows"], MAX_ROWS_BYTES)
        what = [[row["kind"], row["connector"], row["tasks"], row["worker"]] for row in rows], busy, own["version"]
        now = now_ms()
        if self._published is not None and self._published[0] == what and now - self._published[1] < PUBLISH_MS:
            return
        if self._history.keep([WorkerRows(own["worker_id"], now, {**own, "rows": rows, "busy": busy})]):
            self._published = what, now
            if len(rows) < len(own["rows"]):
                log.warning(
                    "Only %d of this worker's %d rows of what needs attention have room in a record for alerts",
                    len(rows),
                    len(own["rows"]),
                )

    def _stored(self, entries: Iterable[StoredEntry]) -> None:
        """Take what has been read from the history topic; called from its thread."""
        with self._lock:
            for entry in entries:
                if isinstance(entry, Alert):
                    self._alerts.replay(entry, now_ms())
                else:
                    self._rows[entry.worker] = entry

    # -- sending

    def _send_due(self) -> None:
        """Send what is due, until it is time for the next look. A message that is refused does not hold up others; if
        the receiver does not answer, or refuses several one after the other, all wait.
        """
        with self._lock:
            due = self._alerts.due()
        waiting = {(alert.id, alert.told) for alert in due}
        self._attempts = {key: tried for key, tried in self._attempts.items() if key in waiting}
        due.sort(key=lambda alert: self._attempts.get((alert.id, alert.told), (0, 0.0))[0])
        refused = 0
        for alert in due:
            while alert.is_due:
                if self._closing.is_set() or not self._leads() or time.monotonic() >= self._look_at:
                    return
                tried, next_at = self._attempts.get((alert.id, alert.told), (0, 0.0))
                if time.monotonic() < next_at:
                    break
                status, problem = self._post(alert)
                if problem is not None:
                    self._warn(len(due), problem)
                    if status is None:
                        self._wait()
                        return
                    wait = min(MAX_BACKOFF_S, 2.0**tried)
                    self._attempts[alert.id, alert.told] = tried + 1, time.monotonic() + wait
                    if status not in MALFORMED or tried + 1 < MAX_REFUSALS:
                        refused += 1
                        if refused >= MAX_IN_A_ROW:
                            self._wait()
                            return
                        break
                    log.error("Gave up a message of alert %s to %s: %s", alert.id, self._receiver, problem)
                else:
                    refused, self._backoff = 0, 0.0
                alert = _accepted(alert)
                with self._lock:
                    self._alerts.replay(alert, now_ms())
                self._store([alert])

    def _wait(self) -> None:
        self._backoff = min(MAX_BACKOFF_S, max(1.0, 2 * self._backoff))
        self._retry_at = time.monotonic() + self._backoff

    def _post(self, alert: Alert) -> tuple[int | None, str | None]:
        """Send the message that is due. Return the status, None without an answer, and what the problem is."""
        said = alert.message(self._group)
        cleaned = {name: self._clean(said[name]) for name in ("why", "text")}  # a worker of Java's may have written it
        body = compact.encode({**said, **cleaned})
        headers = {"content-type": "application/json", "user-agent": f"penstock/{__version__}", **self._headers}
        try:
            if self._client is None:
                self._client = httpx.Client(verify=self._tls, timeout=REQUEST_S, follow_redirects=False)
            status = self._threads.submit(_status, self._client, self._url, body, headers).result(REQUEST_S)
        except TimeoutError:  # of the request as a whole: its connection is closed
            self._drop_client()
            return None, f"it has not answered within {REQUEST_S:g} s"
        except Exception as error:  # also of httpx about the proxy that the environment names
            self._drop_client()
            return None, self._clean(str(error) or type(error).__name__)
        if 200 <= status < 300:
            return status, None
        redirect = "; redirects are not followed" if 300 <= status < 400 else ""
        return status, f"it has answered {status}{redirect}"

    def _drop_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            self._threads.submit(client.close)

    def _warn(self, waiting: int, problem: str) -> None:
        if (now := time.monotonic()) >= self._warned + WARN_S:
            self._warned = now
            log.warning(
                "%d alerts wait for the webhook at %s: %s. Their messages are sent again",
                waiting,
                self._receiver,
                problem,
            )


def _status(client: httpx.Client, url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Send a request and return the status; the body of the answer is not read."""
    with client.stream("POST", url, content=body, headers=headers) as answer:
        return answer.status_code


def _accepted(alert: Alert) -> Alert:
    return replace(alert, closed=True) if alert.told else replace(alert, told=True)


def _mute(worker: str) -> Row:
    why = (
        f"Worker {worker} has not stored its part of the attention list for alerts: it has just started, cannot write "
        f"the history topic, is of an earlier version, or has no `{URL}`"
    )
    return Row("unknown", why, NextStep("Look at the worker and its log", "penstock workers", "workers"), worker=worker)


def _within(rows: list[dict[str, Any]], max_bytes: int) -> list[dict[str, Any]]:
    """Return the first rows, the most urgent, that fit into a record."""
    size = 0
    kept: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: rank(row["kind"])):
        size += len(compact.encode(row))
        if size > max_bytes:
            break
        kept.append(row)
    return kept


def _trusted(path: str | None) -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    if path:
        try:
            context.load_verify_locations(path.strip())
        except (OSError, ValueError) as error:
            raise ConfigError(f"`{CA}={path}` can't be read as certificates in PEM: {error}") from error
    return context
