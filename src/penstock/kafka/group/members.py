"""Present members of a group of Connect workers, as its coordinator knows them.

The leader of the group learns the others' addresses when they join; the other workers ask the coordinator here. Members
have put their URLs into the group's metadata themselves (``protocol``), so that only those who may join the group can.
kafka-python's own ``describe_groups`` takes the metadata of every group for a consumer's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from penstock.kafka.client_settings import own_client_id
from penstock.kafka.group.admin import group_admin
from penstock.kafka.group.protocol import decode_metadata

log = logging.getLogger(__name__)

FRESH_S = 5.0
"""For how long an answer of the coordinator is used, or the lack of one."""
KEPT_S = 60.0
"""For how long the last answer is used while there is no other, as in a rebalance."""
REQUEST_MS = 3_000


@dataclass(slots=True)
class GroupMembers:
    """``settings``: the worker's. Any thread may call this."""

    settings: Mapping[str, str]
    group_id: str
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _urls: tuple[str, ...] = ()
    _known_at: float = float("-inf")
    _asked_at: float = float("-inf")
    _failed: bool = False

    def urls(self) -> tuple[str, ...]:
        """Return the URLs of the members; empty if the coordinator does not say. Blocks for some seconds at most."""
        with self._lock:
            if self.clock() - self._asked_at > FRESH_S:
                try:
                    found, self._failed = self._describe(), False
                except Exception as error:  # kafka-python's errors and those of its sockets
                    level = logging.DEBUG if self._failed else logging.WARNING
                    log.log(level, "The members of group %s can't be described: %r", self.group_id, error)
                    found, self._failed = (), True
                self._asked_at = self.clock()
                if found:
                    self._urls, self._known_at = found, self._asked_at
            return self._urls if self.clock() - self._known_at <= KEPT_S else ()

    def _describe(self) -> tuple[str, ...]:
        """Return the URLs of the members; empty in a rebalance, when the coordinator sends no metadata."""
        client_id = own_client_id(self.settings, "members")
        timeouts = {"request_timeout_ms": REQUEST_MS, "bootstrap_timeout_ms": REQUEST_MS}
        with closing(group_admin(self.settings, client_id, **timeouts)) as admin:

            async def described() -> Any:
                coordinators = await admin._find_coordinator_ids([self.group_id])
                request = admin._describe_groups_request([self.group_id])
                return await admin._manager.send(request, node_id=coordinators[self.group_id])

            groups = admin._manager.run(described).groups
        urls = []
        for member in (member for group in groups for member in group.members):
            try:
                urls.append(decode_metadata(member.member_id, bytes(member.member_metadata)).url)
            except ValueError as error:
                log.debug("A member of group %s is ignored: %s", self.group_id, error)
        return tuple(sorted(set(urls)))
