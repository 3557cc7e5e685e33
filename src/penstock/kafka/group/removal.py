"""Removes the members of consumers whose processes have been killed, so that their groups need not wait for them.

A consumer that is closed leaves its group. One that was killed stays a member until its ``session.timeout.ms`` is over:
until then every rebalance waits for it, and its partitions belong to nobody else. Here it is removed by its id
(KIP-345, KIP-571). The coordinator gives each consumer an id of its own, so no other member can be meant.

That may not be enough: the killed one's worker may be gone as well, the coordinator may not have heard a consumer that
left, and one that starts again takes all members of the last finished rebalance for living ones, with a new session
each. So a run of a task that waits for its group has earlier runs of the same task removed, which it has replaced. They
are known by their ids, too (``kafka.group.member_log``): a member with the same ``client.id`` may be that of another
Connect cluster whose sink has the same name.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from kafka.admin import MemberToRemove

from kafka import errors
from penstock.api.errors import ConnectError
from penstock.core.config.clients import CONSUMER_SETTINGS
from penstock.kafka.group.admin import group_admin

log = logging.getLogger(__name__)

THREADS = 4
"""Number of groups that are described at the same time; the others wait."""
MAX_WAIT_S = 60.0
"""Seconds for which requests to a coordinator that does not answer are retried, unless the session ends sooner."""
REQUEST_MS = 10_000
PAUSE_S = 0.5

_Key = tuple[tuple[str, str], ...]
"""The settings of a consumer but for its client.id: members of a group with the same are removed together."""


@dataclass(frozen=True, slots=True)
class Successor:
    """A run of a task that waits for its group. Both are called from another thread when the group is described."""

    member: Callable[[], str]
    """Returns its own id, which changes when it joins again."""
    own: Callable[[], Collection[str]]
    """Returns the ids of all runs of the task. May block; raises if they can't be read."""


@dataclass(slots=True)
class _Removal:
    settings: Mapping[str, str]
    given_up: float
    members: set[str] = field(default_factory=set)
    successors: list[Successor] = field(default_factory=list)


class MemberRemoval:
    """``remove`` returns at once and may be called from any thread.

    What can't be done is logged, once for each group until it works again, and the end of the session does the rest.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[_Key, _Removal] = {}
        self._threads = 0
        self._failing: set[str] = set()
        """The groups of which the last removal has failed."""

    def remove(self, consumer: Mapping[str, str], member: str) -> None:
        """``consumer``: the settings of the consumer whose member it was, as Java's. Its process must have ended."""
        self._ask(consumer, lambda removal: removal.members.add(member))

    def replace(self, consumer: Mapping[str, str], successor: Successor) -> None:
        """If the group is in a rebalance, remove the members that are earlier runs of the successor's task.

        Their processes must have ended. Members with other ids are never removed.
        """
        self._ask(consumer, lambda removal: removal.successors.append(successor))

    def _ask(self, consumer: Mapping[str, str], add: Callable[[_Removal], None]) -> None:
        key = tuple(sorted((name, value) for name, value in consumer.items() if name != "client.id"))
        with self._lock:
            if key not in self._waiting:
                self._waiting[key] = _Removal(consumer, time.monotonic() + min(_session_s(consumer), MAX_WAIT_S))
            add(self._waiting[key])
            if self._threads == THREADS:
                return
            self._threads += 1
        threading.Thread(target=self._work, name="member-removal", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                key = next(iter(self._waiting), None)
                if key is None:
                    self._threads -= 1
                    return
                removal = self._waiting.pop(key)
            try:
                self._remove(key, removal)
            except Exception as error:
                self._failed(removal, error)
            else:
                self._failing.discard(removal.settings["group.id"])

    def _remove(self, key: _Key, removal: _Removal) -> None:
        """Raises the last error if it can't be done in time."""
        while True:
            try:
                return self._try(key, removal)
            except errors.KafkaError as error:
                if not error.retriable or time.monotonic() + PAUSE_S > removal.given_up:
                    raise
                log.debug("Members of group %s can't be removed yet: %s", removal.settings["group.id"], error)
            time.sleep(PAUSE_S)

    def _try(self, key: _Key, removal: _Removal) -> None:
        group, left = removal.settings["group.id"], removal.given_up - time.monotonic()
        limits = {"bootstrap_timeout_ms": max(int(left * 1000), 1), "request_timeout_ms": REQUEST_MS}
        with closing(group_admin(removal.settings, removal.settings["client.id"], **limits)) as client:
            with self._lock:  # those that were lost meanwhile, as a process with several tasks loses them
                if (more := self._waiting.pop(key, None)) is not None:
                    removal.members |= more.members
                    removal.successors += more.successors
            if removal.successors:
                removal.members |= _replaced(client.describe_groups([group])[group], removal.successors)
            if not removal.members:
                return
            wanted = [MemberToRemove(each, reason="its process has ended") for each in sorted(removal.members)]
            try:
                answers = client.remove_group_members(group, wanted)
            except errors.UnknownMemberIdError:  # there is no such group any more
                return
        for member, answer in answers.items():
            if answer is errors.NoError:
                log.info("Removed member %s of group %s, whose process has ended", member, group)
                removal.members.discard(member)
            elif answer is errors.UnknownMemberIdError:
                removal.members.discard(member)
        for answer in answers.values():
            if answer not in (errors.NoError, errors.UnknownMemberIdError):
                raise answer()

    def _failed(self, removal: _Removal, error: Exception) -> None:
        group = removal.settings["group.id"]
        level = logging.DEBUG if group in self._failing else logging.WARNING
        self._failing.add(group)
        log.log(
            level,
            "Member %s of group %s, whose process has ended, can't be removed: %s. The group waits for it until its "
            "session is over (session.timeout.ms=%d)",
            ", ".join(sorted(removal.members)) or "of an earlier run",
            group,
            error if isinstance(error, ConnectError) else f"{type(error).__name__}: {error}",
            _session_s(removal.settings) * 1000,
        )


def _replaced(group: Mapping[str, Any], successors: Iterable[Successor]) -> set[str]:
    """Members that a rebalance waits for though others have taken their place. ``group``: as kafka-python tells it."""
    if group["error"] is not None:
        raise errors.CoordinatorNotAvailableError(group["error"])
    if group["group_state"] == "Stable":
        return set()
    own = {id for each in successors for id in each.own()}
    return {each["member_id"] for each in group["members"]} & own - {each.member() for each in successors}


def _session_s(consumer: Mapping[str, str]) -> float:
    given = consumer.get("session.timeout.ms", CONSUMER_SETTINGS.keys["session.timeout.ms"].default)
    return int(str(given)) / 1000
