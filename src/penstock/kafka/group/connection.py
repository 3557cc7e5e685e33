"""The connection to the group's coordinator, and the leader's part in a rebalance, through kafka-python.

``BaseCoordinator`` speaks the group protocol on a network thread of its own; when it joins it
asks for the member's metadata and, on the leader, for the assignment of all members, and must be answered at once. Both
answers come from values in memory: the snapshot last published, and the pure ``core.group.assignment``.

This is the only file that knows kafka-python's coordinator, which is no stable interface.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from kafka.coordinator.base import BaseCoordinator, Generation
from kafka.net.compat import KafkaNetClient
from kafka.structs import MemberState

from kafka import errors
from penstock.core.group.assignment import AssignorMemory, Rebalance, assign
from penstock.core.group.membership import Assignment, ClusterConfigSnapshot, Member, Owners
from penstock.core.model.limits import MAX_GROUP_BYTES, fitting, shortened
from penstock.kafka.group.protocol import VERSIONS, decode_assignment, decode_metadata, encode_assignment, offers

log = logging.getLogger(__name__)

LEAVE_TIMEOUT_MS = 3_000
MAX_SHOWN = 5
"""Names of connectors in one line of the log."""

REFUSALS = {
    errors.GroupAuthorizationFailedError: "Not authorized to access group: {group} ({principal} needs READ on "
    "Group:{group})",
    errors.InconsistentGroupProtocolError: "The protocol of this worker does not fit the members of group {group}:"
    " either connect.protocol shares no protocol with theirs, or the group is not one of Connect workers",
    errors.InvalidSessionTimeoutError: "session.timeout.ms={session_timeout_ms} is not within the range allowed by the"
    " broker (as configured by group.min.session.timeout.ms and group.max.session.timeout.ms)",
    errors.InvalidGroupIdError: "group.id={group} is not a valid group id",
    errors.GroupMaxSizeReachedError: "Group {group} has as many members as the broker's group.max.size allows",
}


class JoinRefusedError(Exception):
    """The coordinator refuses this member; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class CompletedRebalance:
    """This member's part of a completed rebalance. ``owners`` only if this member is the leader."""

    generation: int
    member_id: str
    version: int
    assignment: Assignment
    owners: Owners | None


class GroupConnection:
    """Used by one thread, which sets ``running`` before each ``join``; others only publish snapshots and ask for joins.

    ``changed`` is called from the network's thread whenever the member should join (again).
    """

    def __init__(
        self,
        arguments: Mapping[str, Any],
        group_id: str,
        rest_url: str,
        protocol: str,
        max_delay_ms: int,
        changed: Callable[[], None],
        principal: str,
        max_bytes: int = MAX_GROUP_BYTES,
    ) -> None:
        self.arguments = arguments
        self.principal = principal
        self.group_id = group_id
        self.rest_url = rest_url
        self.protocol = protocol
        self.max_delay_ms = max_delay_ms
        self.changed = changed
        self.max_bytes = max_bytes
        self.snapshot: ClusterConfigSnapshot | None = None
        self.running: Assignment | None = None
        self.rejoins_requested = 0
        self.completed: CompletedRebalance | None = None
        self._client: KafkaNetClient | None = None
        self._bootstrap: Any = None
        self._coordinator: _Coordinator | None = None
        self._last_member_id = ""
        self._last_completed_generation = -1
        self._join_sent_s = -math.inf
        self._confirmed_s = -math.inf
        self._taken: int | None = None  # the generation that the last completed `join` has returned
        self._offered = ClusterConfigSnapshot(-1)
        self._rejoins_seen = 0
        self._memory = AssignorMemory()
        self._owners: Owners | None = None
        self._omitted: Set[str] = frozenset()

    @property
    def member_id(self) -> str:
        generation = self._coordinator and self._coordinator.generation_if_stable()
        return generation.member_id if generation else ""

    @property
    def generation(self) -> int:
        generation = self._coordinator and self._coordinator.generation_if_stable()
        return generation.generation_id if generation else -1

    def open(self, timeout_ms: int) -> bool:
        """Continue opening for at most this long; False if no bootstrap server has answered yet.

        Raises JoinRefusedError.
        """
        if self._coordinator is not None:
            return True
        if self._client is None:
            self._client = KafkaNetClient(**self.arguments)
            self._client._net.start()
            self._bootstrap = self._client._manager.bootstrap_async()
        manager = self._client._manager
        try:
            manager.run(manager.wait_for, self._bootstrap, timeout_ms)
        except errors.KafkaTimeoutError:
            return False
        except Exception as failure:
            raise self._refused(failure) from failure
        self._coordinator = _Coordinator(self, self._client)
        self._coordinator.reset_generation(self._last_member_id)
        return True

    def close(self) -> None:
        """The broker counts this member until it has left or its session is over; ``open`` reconnects.

        Contact is lost and what ran here is stopped; so is what others ran, if they lost contact too. If this
        member leads again, it must not hold work back for members that seem to be missing.
        """
        self._memory = AssignorMemory()
        self._taken, self._confirmed_s = None, -math.inf
        if self._coordinator is not None:
            self._last_member_id = self._coordinator._generation.member_id
            self._coordinator._close_heartbeat()
            self._coordinator = None
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def coordinator_known(self) -> bool:
        return self._coordinator is not None and not self._coordinator.coordinator_unknown()

    @property
    def unanswered_ms(self) -> int:
        """Milliseconds since the last answer to a heartbeat; 0 while none are sent."""
        coordinator = self._coordinator
        if coordinator is None or coordinator.state is not MemberState.STABLE:
            return 0
        answered = max(coordinator.heartbeat.last_receive, coordinator.joined_at)
        return int((time.monotonic() - answered) * 1000)

    @property
    def confirmed_s(self) -> float:
        """The latest time, by the monotonic clock, at which something was sent that the coordinator answered as to a
        member. Until ``session.timeout.ms`` after it, the coordinator gives this member's work to nobody else.
        """
        coordinator = self._coordinator
        if coordinator is not None and self.generation == self._taken:
            sent = coordinator.heartbeat.last_send  # read first: one heartbeat at a time is under way
            if coordinator.heartbeat.last_receive >= sent:
                self._confirmed_s = max(self._confirmed_s, sent)
        return self._confirmed_s

    @property
    def join_wanted(self) -> bool:
        return self._coordinator is not None and (
            self._coordinator.need_rejoin() or self._rejoins_seen != self.rejoins_requested
        )

    def request_join(self) -> None:
        """Counts even while a rebalance is being joined, the end of which resets kafka-python's own flag."""
        self.rejoins_requested += 1

    def keep_alive(self) -> None:
        """Without this the heartbeats stop after ``rebalance.timeout.ms``."""
        if self._coordinator is not None:
            try:
                self._coordinator.poll_heartbeat()
            except Exception as failure:  # of the loop that sends heartbeats: joining starts another
                log.warning("Heartbeats to group %s ended: %r", self.group_id, failure)
                self._coordinator.request_rejoin()

    def join(self, timeout_ms: int) -> CompletedRebalance | None:
        """Join, or continue joining, for at most this long; None if it is not completed yet.

        Raises JoinRefusedError.
        """
        coordinator = self._coordinator
        assert coordinator is not None
        self._forget_completed()
        coordinator.rejoin_needed = True
        try:
            coordinator.ensure_active_group(timeout_ms)
        except errors.RetriableError as failure:
            log.debug("Group %s is not joined yet: %r", self.group_id, failure)
        except Exception as failure:
            raise self._refused(failure) from failure
        if self.completed is not None:
            self._taken, self._confirmed_s = self.completed.generation, self._join_sent_s
        return self.completed

    def _forget_completed(self) -> None:
        self.completed = None

    def leave(self, reason: str) -> None:
        self._taken, self._confirmed_s = None, -math.inf
        if self._coordinator is not None:
            try:
                self._coordinator.maybe_leave_group(reason, LEAVE_TIMEOUT_MS)
            except Exception as failure:
                log.info(
                    "Failed to leave group %s explicitly: %r; it will notice by the end of the session",
                    self.group_id,
                    failure,
                )

    def _refused(self, failure: Exception) -> JoinRefusedError:
        if sentence := REFUSALS.get(type(failure)):
            timeout = self.arguments["session_timeout_ms"]
            names = {"group": self.group_id, "session_timeout_ms": timeout, "principal": self.principal}
            return JoinRefusedError(sentence.format_map(names))
        return JoinRefusedError(f"Group {self.group_id} could not be joined: {type(failure).__name__}: {failure}")

    # Called from the network's thread.

    def _offers(self) -> list[tuple[str, bytes]]:
        assert self.snapshot is not None
        self._join_sent_s = time.monotonic()
        self._rejoins_seen = self.rejoins_requested
        self._offered = self.snapshot
        self._owners = None
        return offers(self.protocol, self.rest_url, self._offered.offset, self.running)

    def _lead(self, leader: str, generation: int, protocol: str, members: Iterable[Any]) -> dict[str, bytes]:
        version = VERSIONS[protocol]
        joined = list(_understood(members))
        snapshot = self._offered
        if snapshot.offset < max(member.offset for member in joined):
            assert self.snapshot is not None
            snapshot = self.snapshot
        snapshot = self._fitting(snapshot, joined)
        rebalance = Rebalance(leader, generation, self._last_completed_generation, version, self.max_delay_ms)
        decision = assign(snapshot, joined, self._memory, time.monotonic_ns() // 1_000_000, rebalance)
        self._memory = decision.memory
        self._owners = decision.owners
        return {id: encode_assignment(assignment, version) for id, assignment in decision.assignments.items()}

    def _fitting(self, snapshot: ClusterConfigSnapshot, members: Sequence[Member]) -> ClusterConfigSnapshot:
        """Return the snapshot without the connectors for which the group's record has no room."""
        running = {name for member in members if member.assignment for name in member.assignment.connectors}
        chosen = fitting(snapshot.connectors, running, len(members), self.max_bytes)
        if (omitted := snapshot.connectors.keys() - chosen.keys()) != self._omitted:
            self._omitted = omitted
            if omitted:
                shown = ", ".join(map(shortened, sorted(omitted)[:MAX_SHOWN]))
                log.error(
                    "The assignments of all connectors need more than penstock.group.max.bytes=%d; %d of them are"
                    " assigned to no worker until others are deleted: %s%s",
                    self.max_bytes,
                    len(omitted),
                    shown,
                    ", ..." if len(omitted) > MAX_SHOWN else "",
                )
        return snapshot if not omitted else replace(snapshot, connectors=chosen)

    def _joined(self, generation: int, member_id: str, protocol: str, told: bytes) -> None:
        self._last_completed_generation = generation
        self.completed = CompletedRebalance(
            generation, member_id, VERSIONS[protocol], decode_assignment(told), self._owners
        )


def _understood(members: Iterable[Any]) -> Iterator[Member]:
    """Yield the members whose metadata can be read; the others are assigned nothing."""
    for member in members:
        try:
            yield decode_metadata(member.member_id, bytes(member.metadata))
        except ValueError as error:
            log.warning("Assigning nothing to a member of the group: %s", error)


class _Coordinator(BaseCoordinator):  # type: ignore[misc]
    """kafka-python's member of the group, with Connect's protocols."""

    def __init__(self, connection: GroupConnection, client: KafkaNetClient) -> None:
        arguments = dict(connection.arguments, group_id=connection.group_id)
        super().__init__(client, **arguments, api_version=client._manager.broker_version)
        self.connection = connection
        self.joined_at = time.monotonic()
        self._untaken: tuple[Generation, bytes] | None = None  # a join that has ended, and what it was told

    def protocol_type(self) -> str:
        return "connect"

    def group_protocols(self) -> list[tuple[str, bytes]]:
        return self.connection._offers()

    def _perform_assignment(self, leader_id: str, protocol: str, members: Iterable[Any]) -> dict[str, bytes]:
        return self.connection._lead(leader_id, self._generation.generation_id, protocol, members)

    async def _do_join_and_sync_async(self) -> bytes:
        """kafka-python forgets a join that ends between two calls of ``join``, and would join again."""
        untaken, self._untaken = self._untaken, None
        if untaken is not None and untaken[0] is self._generation:  # it has not been reset meanwhile
            told = untaken[1]
        else:
            told = bytes(await super()._do_join_and_sync_async())
        self._untaken = (self._generation, told)
        return told

    async def _on_join_complete_async(
        self, generation: int, member_id: str, protocol: str, member_assignment_bytes: bytes
    ) -> None:
        self._untaken = None
        self.joined_at = time.monotonic()
        self.connection._joined(generation, member_id, protocol, bytes(member_assignment_bytes))

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self.connection.changed()

    def reset_generation(self, *args: Any, **kwargs: Any) -> None:
        super().reset_generation(*args, **kwargs)
        self.connection.changed()
