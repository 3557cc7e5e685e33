"""Reading the config topic to its end within ``worker.sync.timeout.ms``, and the backoff of a worker that cannot.

A worker that cannot read what it should run would block its group: it leaves, and joins again once it has caught up
(Java: DistributedHerder's readConfigToEnd and backoff).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.group.membership import EAGER, Joined, Membership
from penstock.core.group.rebalance import Rebalancing
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Output, Until
from penstock.core.model.messages import Refused
from penstock.core.model.state import ClusterState

RETRIES = 5
"""Number of retries before the connectors and tasks that run here are given up."""


@dataclass(slots=True)
class ConfigReader:
    """Reader of the config topic up to its present end."""

    output: Output
    state: ClusterState
    timeout_ms: int
    """``worker.sync.timeout.ms``."""

    def read_to_end(self, before: str) -> Flow:
        """Read the config topic to its present end on behalf of a request; raises Refused if that takes too long."""
        if not (yield from self.read_in_time(0)):
            raise Refused(500, f"Failed to read to end of config topic before {before}")

    def read_in_time(self, target: int) -> Flow:
        """Read the topic, at least up to this offset; return whether that ended in time."""
        ends: list[BaseException | None] = []

        def reading() -> Flow:
            yield actions.ReadConfigToEnd()

        self.output.start(reading(), lambda _, error: ends.append(error))
        try:
            yield Until(lambda: bool(ends) and self.state.position >= target, self.timeout_ms, "")
        except TimeoutError:
            return False
        return ends[0] is None


@dataclass(slots=True)
class Backoff:
    """Time that a worker that cannot catch up stays out of its group; milliseconds."""

    unsync_ms: int
    """``worker.unsync.backoff.ms``, for the eager protocol."""
    max_delay_ms: int
    """``scheduled.rebalance.max.delay.ms``, after which others are given what runs here."""


@dataclass(slots=True)
class CatchUp:
    """Flow of a worker that has joined before it has read as far as the leader."""

    output: Output
    membership: Membership
    reader: ConfigReader
    rebalance: Rebalancing
    backoff: Backoff
    take: Callable[[Joined], None]
    """Handles a completed rebalance once this worker has read as far as the leader."""

    def until_read(self, event: Joined) -> Flow:
        """Read as far as the leader had; then take the assignment, or join again."""
        if (yield from self.reader.read_in_time(event.assignment.offset)):
            if self.membership.awaited is event:
                self.rebalance.publish()
                if event.assignment.failed:
                    self._join_again()
                else:
                    self.take(event)
        elif self.membership.awaited is event:  # else another rebalance has completed, or contact was lost
            yield from self._stay_away(event)

    def _join_again(self) -> None:
        self.membership.awaited, self.membership.stays_away = None, False
        self.output.emit(actions.Rejoin("this worker has caught up with the config topic"))

    def _stay_away(self, event: Joined) -> Flow:
        """Stay out of the group until the topic can be read; tasks run on until others may be given them."""
        self.membership.leave()
        self.membership.stays_away = True
        self.output.emit(actions.LeaveGroup("taking too long to read the config topic"))
        working, left_at, retries = True, self.output.now, RETRIES
        timeout_ms, max_delay_ms = self.reader.timeout_ms, self.backoff.max_delay_ms
        while True:
            eager = event.protocol_version == EAGER
            pause = self.backoff.unsync_ms if eager else max_delay_ms // 10 // max(retries, 1)
            self.output.log(
                "WARNING",
                f"The config topic could not be read to its end within worker.sync.timeout.ms={timeout_ms}; "
                f"this worker stays out of its group, retrying in {pause} ms",
            )
            over = self.output.now + pause + timeout_ms - left_at > max_delay_ms
            if working and (retries == 0 or over):
                self.output.log("WARNING", "Stopping everything on this worker, as others may be given it")
                self.output.emit(actions.LeaveGroup("not having caught up with the config topic", keeps_work=False))
                self.rebalance.give_up_all(None)
                working = False
            retries = retries - 1 if retries else RETRIES
            yield from self._pass(pause)
            read = yield from self.reader.read_in_time(event.assignment.offset)
            if self.membership.awaited is not event:
                return
            if read:
                self.rebalance.publish()
                self._join_again()
                return

    def _pass(self, milliseconds: int) -> Flow:
        over = self.output.now + milliseconds
        yield Until(lambda: self.output.now >= over, milliseconds + 1, "")
