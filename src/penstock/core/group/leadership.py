"""Work of the leader: it decides on changes and writes them to the config topic, one after the other.

With exactly once the leader first claims the topic, which fences the writes of every other worker (KIP-618).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.group.membership import Membership, Stage
from penstock.core.model import actions
from penstock.core.model.flow import Flow, Lane, Output, Until
from penstock.core.model.messages import Refused
from penstock.core.model.records import ConfigTopicRecord
from penstock.core.model.settings import HerderSettings
from penstock.core.model.state import ClusterState

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
RETRY_MS = 1_000


class Fenced(Exception):
    """Failure of a write as leader: another worker has become leader, or a write has failed before."""


class TooLarge(Exception):
    """Failure of a write to the config topic that no repetition can change; the message says what the limit is."""


class ElsewhereError(Exception):
    """Raised in a flow if the worker at this URL must answer the request."""

    def __init__(self, url: str | None) -> None:
        super().__init__(f"the leader is {url}")
        self.url = url


class Duty(Protocol):
    """Repeated work of a leader, for as long as it leads."""

    def is_urgent(self) -> bool:
        """Whether it must be performed now."""

    def due_in_ms(self) -> int: ...

    def perform(self, over: Callable[[], bool]) -> Flow:
        """Do the work if it is due; called as leader, stops early once ``over()``. If it raises, it is retried."""


@dataclass(frozen=True, slots=True)
class Duties:
    """Several duties as one."""

    each: tuple[Duty, ...]

    def is_urgent(self) -> bool:
        return any(duty.is_urgent() for duty in self.each)

    def due_in_ms(self) -> int:
        return min(duty.due_in_ms() for duty in self.each)

    def perform(self, over: Callable[[], bool]) -> Flow:
        for duty in self.each:
            if not over():
                yield from duty.perform(over)


@dataclass(slots=True)
class Leadership:
    settings: HerderSettings
    output: Output
    state: ClusterState
    membership: Membership
    changes: Lane = field(default_factory=Lane)
    """Lane of changes: the leader writes a change before it decides on the next one."""

    # -- for requests

    def is_known(self) -> bool:
        """Whether requests can be decided on, here or by a known leader."""
        membership = self.membership
        if membership.assignment is None or membership.stage is not Stage.WORKING:
            return False
        return not membership.is_leader or not self._must_claim()

    def known(self) -> Flow:
        """Continue once ``is_known()``; TimeoutError after the time that a request may take."""
        yield Until(self.is_known, self.settings.request_timeout_ms, "No leader is known.")

    def as_leader(self) -> Flow:
        """Continue if this worker leads, else raise ElsewhereError. Waits for a rebalance to end, within limits."""
        try:
            yield Until(self.is_known, self.settings.rebalance_wait_ms, "")
        except TimeoutError:
            raise Refused(409, NO_LEADER) from None
        if not self.membership.is_leader:
            raise ElsewhereError(self.membership.leader_url)

    def no_rebalance_due(self) -> Flow:
        """Continue when all connectors and tasks have been distributed; 409 if that takes too long."""
        try:
            yield Until(self._is_distributed, self.settings.rebalance_wait_ms, "")
        except TimeoutError:
            raise Refused(
                409,
                "Cannot complete request momentarily due to stale configuration "
                "(typically caused by a concurrent config change)",
            ) from None

    def _is_distributed(self) -> bool:
        assignment = self.membership.assignment
        if self.membership.stage is not Stage.WORKING or assignment is None:
            return False
        return self.state.layout_position <= assignment.offset

    # -- writing

    def one_by_one(self, change: Callable[[], Flow]) -> Flow:
        """Decide and write as leader while no other change is being decided on."""
        yield from self.as_leader()

        def still_leading() -> Flow:
            yield from self.as_leader()
            return (yield from change())

        return (yield from self.changes.through(still_leading()))

    def append(self, *records: ConfigTopicRecord) -> Flow:
        """Write to the config topic as leader, and wait until the records have been read back.

        A leader that finds itself fenced does not retry, since its decision may be out of date; it claims the topic
        again if it still leads (the other worker may have been the late one).
        """
        try:
            yield actions.AppendConfig(records)
        except TooLarge as error:
            self.membership.claimed = False
            raise Refused(400, str(error)) from None
        except Fenced:
            self.membership.claimed = False
            raise Refused(
                500,
                "Failed to write to config topic; this may be due to a transient error and the request can be safely "
                "retried",
            ) from None

    # -- a term as leader

    def lead(self, duty: Duty) -> Flow:
        """Claim the config topic, again whenever the claim has been lost, and perform the duty whenever it is due.

        Started when this worker becomes leader; ends with its term.
        """
        term = self.membership.leader_term

        def over() -> bool:
            return not self.membership.is_leader or self.membership.leader_term != term

        while not over():
            try:
                if self._must_claim():
                    yield actions.ClaimConfigTopic()
                    if over():
                        return
                    self.membership.claimed = True
                yield from duty.perform(over)
            except Exception as error:
                self.output.log(
                    "WARNING", f"The leader could not write to the config topic; retrying in {RETRY_MS} ms: {error}"
                )
                yield from _wait(over, RETRY_MS)
                continue
            yield from _wait(lambda: over() or duty.is_urgent() or self._must_claim(), duty.due_in_ms())
            if self._must_claim():
                yield from _wait(over, RETRY_MS)  # by then this worker may know that another one leads

    def _must_claim(self) -> bool:
        return self.settings.fenced_writes and not self.membership.claimed


def _wait(end: Callable[[], bool], milliseconds: int) -> Flow:
    """Wait until ``end()``, for at most this time."""
    try:
        yield Until(end, milliseconds, "")
    except TimeoutError:
        return
