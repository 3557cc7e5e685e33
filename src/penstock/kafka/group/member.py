"""A worker's membership in its group: when it joins, what it must stop before, when it is lost. KIP-415.

Keeps what Java's ``WorkerCoordinator`` promises its ``WorkerRebalanceListener``, as events in a queue instead of calls
that block: what is revoked is stopped before the member joins again, a worker that can't reach the group must stop
everything, and a worker that no longer ticks leaves the group instead of being kept in it by its heartbeats.

One thread (``_run``) joins, leaves and delivers. Calls of the worker are noted, and wake the thread.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from penstock.core.group.membership import (
    Assignment,
    ClusterConfigSnapshot,
    CoordinatorFound,
    CoordinatorUnknown,
    Failed,
    GroupEvent,
    Joined,
    Lost,
    PollTimeoutExpired,
    Reachability,
    Revoked,
)
from penstock.core.model.limits import MAX_GROUP_BYTES
from penstock.core.model.tasks import TaskId
from penstock.kafka.group.client import client_arguments
from penstock.kafka.group.connection import CompletedRebalance, GroupConnection, JoinRefusedError
from penstock.kafka.group.protocol import OFFERED, VERSIONS
from penstock.kafka.security.settings import Security

log = logging.getLogger(__name__)

STEP_MS = 250  # the longest time between two looks at the worker and at the broker
STEP_S = STEP_MS / 1000
RETRY_S = 5.0  # after a refusal


class GroupMember:
    """``deliver`` is called from the group's thread and must return at once, as a queue's ``put`` does.

    ``max_bytes`` is the size of all assignments together, ``penstock.group.max.bytes``; this member, as leader, assigns
    no more connectors than fit.

    Raises ConfigError for settings that can't be used, ValueError if ``protocol`` (``connect.protocol``) is none of
    Java's.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        group_id: str,
        rest_url: str,
        protocol: str,
        scheduled_rebalance_max_delay_ms: int,
        deliver: Callable[[GroupEvent], None],
        max_bytes: int = MAX_GROUP_BYTES,
    ) -> None:
        if protocol not in OFFERED:
            raise ValueError(f"connect.protocol={protocol} is unknown, it must be one of {', '.join(OFFERED)}")
        arguments = client_arguments(settings, settings.get("client.id") or f"connect-{urlsplit(rest_url).netloc}")
        self.group_id = group_id
        self.protocol_version = VERSIONS[OFFERED[protocol][0]]
        self._bootstrap_servers = settings["bootstrap.servers"]
        self._rebalance_timeout_ms: int = arguments["max_poll_interval_ms"]
        self._deliver = deliver
        self._wake = threading.Event()
        self._connection = GroupConnection(
            arguments,
            group_id,
            rest_url,
            protocol,
            scheduled_rebalance_max_delay_ms,
            self._wake.set,
            Security.of(settings).principal,
            max_bytes,
        )
        self._reachability = Reachability(arguments["session_timeout_ms"], arguments["heartbeat_interval_ms"])
        self._reachable: bool | None = None
        self._thread = threading.Thread(target=self._run, name=f"group-{group_id}", daemon=True)
        self._stopping = False
        self._leaving: str | None = None
        self._forgets = False
        self._ticked_ms = _now_ms()
        self._running: Assignment | None = None  # what this member runs, which it sends when it joins
        self._arrived: Joined | None = None  # to be delivered once revocations are confirmed
        self._revocations: list[_Revocation] = []
        self._confirmations: queue.SimpleQueue[Callable[[bool], None]] = queue.SimpleQueue()
        self._session_s = arguments["session_timeout_ms"] / 1000
        self._worker_silent = False
        self._waits_for_request = False
        self._refusal: str | None = None

    @property
    def member_id(self) -> str:
        """Empty while it is no member of a stable group."""
        return self._connection.member_id

    @property
    def generation(self) -> int:
        """-1 while it is no member of a stable group."""
        return self._connection.generation

    def start(self) -> None:
        """Called once. It joins as soon as a snapshot has been published."""
        self._ticked_ms = _now_ms()
        self._thread.start()

    def publish(self, snapshot: ClusterConfigSnapshot) -> None:
        """Called whenever the worker has read more of the config topic. Does not start a rebalance."""
        self._connection.snapshot = snapshot
        self._wake.set()

    def request_rejoin(self, reason: str) -> None:
        """Join (again), also after a failed assignment and after ``leave``."""
        log.debug("Request joining group %s due to: %s", self.group_id, reason)
        self._waits_for_request = False
        self._connection.request_join()
        self._wake.set()

    def confirm(self, done: Callable[[bool], None]) -> None:
        """Called before a task begins its work: is what this member was given still its own?

        ``done(True)`` is called from the group's thread as soon as the coordinator is known to count this worker as a
        member now, all events of earlier rebalances having been delivered; ``done(False)`` if it is no member.
        """
        self._confirmations.put(done)
        self._wake.set()

    def tick(self) -> None:
        """Called by the worker's loop at least once per ``rebalance.timeout.ms``: it is alive."""
        self._ticked_ms = _now_ms()

    def leave(self, reason: str, keeps_work: bool = True) -> None:
        """Leave the group for now, as Java does when it takes too long to read the log; ``request_rejoin`` ends it.

        When it joins again it claims what it ran before, if it ``keeps_work``.
        """
        self._waits_for_request = True
        self._forgets = self._forgets or not keeps_work
        self._leaving = reason
        self._wake.set()

    def leave_and_stop(self, timeout: float) -> None:
        """Called once everything has been stopped; waits at most ``timeout`` seconds until the group has been left."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    # The following methods run in the group's thread.

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stopping:
            self._wake.wait(pause_s)
            self._wake.clear()
            started_s = time.monotonic()
            try:
                self._step()
                pause_s = max(0.0, STEP_S - (time.monotonic() - started_s))
            except Exception as failure:
                self._refused(failure)
                pause_s = RETRY_S
        self._connection.leave("the worker is shutting down")
        self._connection.close()

    def _step(self) -> None:
        self._connection.open(timeout_ms=STEP_MS)
        self._watch_broker(_now_ms())
        self._watch_worker(_now_ms())
        if (reason := self._leaving) is not None:
            self._leaving = None
            self._connection.leave(reason)
        if self._forgets:
            self._running, self._forgets = None, False
        self._revocations = [revocation for revocation in self._revocations if not revocation.confirmed.is_set()]
        if self._revocations or self._worker_silent:
            return
        if self._arrived is not None:
            arrived, self._arrived = self._arrived, None
            self._deliver(arrived)
        self._answer_confirmations()
        if self._connection.snapshot is not None and not self._waits_for_request and self._connection.join_wanted:
            self._join()

    def _answer_confirmations(self) -> None:
        """Answer the confirmations that can be answered now. Called when no revocation or assignment is left to
        deliver.
        """
        if self._running is None:
            self._deny_confirmations()
        elif time.monotonic() - self._connection.confirmed_s < self._session_s:
            while not self._confirmations.empty():
                self._confirmations.get()(True)

    def _deny_confirmations(self) -> None:
        while not self._confirmations.empty():
            self._confirmations.get()(False)

    def _join(self) -> None:
        if self.protocol_version == 0 and self._running is not None:
            running, self._running = self._running, None
            self._deliver(Revoked(running.leader, running.connectors, running.tasks, self._revocation()))
            return
        self._connection.running = self._running
        if (joined := self._connection.join(timeout_ms=STEP_MS)) is not None:
            self._refusal = None
            self._take_up(joined)
            self._wake.set()

    def _take_up(self, joined: CompletedRebalance) -> None:
        """Revoke what was taken away, and prepare the new assignment for when that is confirmed."""
        assignment = joined.assignment
        before = self._running or Assignment()
        self.protocol_version = joined.version
        if assignment.failed:
            self._waits_for_request = True
            gone_connectors, gone_tasks = set[str](), set[TaskId]()
        elif joined.version == 0:
            # After a change from an incremental protocol to the eager one something may still run from before.
            gone_connectors = set(before.connectors) - set(assignment.connectors)
            gone_tasks = set(before.tasks) - set(assignment.tasks)
            before = Assignment()
        else:
            gone_connectors, gone_tasks = set(assignment.revoked_connectors), set(assignment.revoked_tasks)
        now = replace(
            assignment,
            connectors=assignment.connectors + tuple(c for c in before.connectors if c not in gone_connectors),
            tasks=assignment.tasks + tuple(t for t in before.tasks if t not in gone_tasks),
        )
        self._running = replace(now, revoked_connectors=(), revoked_tasks=())
        if gone_connectors or gone_tasks:
            gone = (tuple(sorted(gone_connectors)), tuple(sorted(gone_tasks)))
            self._deliver(Revoked(assignment.leader, *gone, self._revocation()))
        leader = assignment.leader == joined.member_id
        self._arrived = Joined(joined.generation, joined.member_id, joined.version, now, leader, joined.owners)

    def _revocation(self) -> Callable[[], None]:
        revocation = _Revocation(_now_ms())
        self._revocations.append(revocation)

        def done() -> None:
            revocation.confirmed.set()
            self._wake.set()

        return done

    @property
    def revocation_left(self) -> float:
        """The seconds that are left to stop what was revoked; infinite if nothing was. Any thread may ask."""
        since = [each.since_ms for each in tuple(self._revocations) if not each.confirmed.is_set()]
        return (min(since) + self._rebalance_timeout_ms - _now_ms()) / 1000 if since else math.inf

    def _watch_broker(self, now_ms: int) -> None:
        known = self._connection.coordinator_known
        reachable = self._reachability.observe(
            now_ms, coordinator_known=known, unanswered_ms=self._connection.unanswered_ms
        )
        if reachable and known and self._reachable is not True:
            self._reachable = True
            self._deliver(CoordinatorFound())
        elif not reachable and self._reachable is not False and self._refusal is None:
            self._reachable = False
            reason = (
                f"The coordinator of group {self.group_id} can't be reached"
                f" by way of bootstrap.servers={self._bootstrap_servers}"
            )
            log.warning("%s; retrying", reason)
            self._deliver(CoordinatorUnknown(reason))
            self._lose(reason)

    def _lose(self, reason: str) -> None:
        self._deny_confirmations()
        self._connection.close()  # it would wait too long for a connection that is silent rather than broken
        if self._running is not None:
            running, self._running, self._arrived = self._running, None, None
            self._waits_for_request = False  # the worker's next request is out of date
            self._deliver(Lost(reason, running.connectors, running.tasks, self._revocation()))

    def _watch_worker(self, now_ms: int) -> None:
        silent = now_ms - self._ticked_ms > self._rebalance_timeout_ms
        if silent and not self._worker_silent:
            self._expire(f"The worker has not polled the group for {now_ms - self._ticked_ms} ms")
        self._worker_silent = silent
        if not silent:
            self._connection.keep_alive()
        for revocation in self._revocations:
            overdue = now_ms - revocation.since_ms > self._rebalance_timeout_ms and not revocation.confirmed.is_set()
            if overdue and not revocation.overdue:
                revocation.overdue = True
                self._expire("The worker has not stopped what was revoked")

    def _expire(self, what: str) -> None:
        reason = f"{what}, longer than rebalance.timeout.ms={self._rebalance_timeout_ms}; it has left the group"
        log.warning(reason)
        self._connection.leave("worker poll timeout has expired.")
        self._deliver(PollTimeoutExpired(reason))

    def _refused(self, failure: Exception) -> None:
        reason = str(failure)
        if not isinstance(failure, JoinRefusedError):
            log.exception("Membership in group %s failed", self.group_id)
            reason = f"Membership in group {self.group_id} failed: {failure!r}"
        if reason != self._refusal:
            self._refusal = reason
            log.error("%s; retrying every %d s", reason, RETRY_S)
            self._deliver(Failed(reason))
        self._lose(reason)


class _Revocation:
    """Work that the worker must stop, and has not yet confirmed to have stopped."""

    def __init__(self, since_ms: int) -> None:
        self.since_ms = since_ms
        self.confirmed = threading.Event()
        self.overdue = False


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
