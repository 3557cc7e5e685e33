"""Present members of a group of Connect workers, as its coordinator knows them.

The leader of the group learns the others' addresses when they join; the other workers ask the coordinator here. Members
have put their URLs into the group's metadata themselves (``protocol``), so that only those who may join the group can.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConnectError
from penstock.kafka.client_settings import internal, own_client_id
from penstock.kafka.clients import new_admin
from penstock.kafka.group.protocol import decode_metadata

log = logging.getLogger(__name__)

FRESH_S = 3.0
"""For how long an answer of the coordinator is used, or the lack of one."""
KEPT_S = 60.0
"""For how long the last answer is used while there is no other, as in a rebalance."""
TIMEOUT_S = 3.0


@dataclass(slots=True)
class GroupMembers:
    """``settings``: the worker's. Any thread may call this."""

    settings: Mapping[str, str]
    group_id: str
    clock: Callable[[], float] = time.monotonic
    _admin: AdminClient | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _urls: tuple[str, ...] = ()
    _known_at: float = float("-inf")
    _asked_at: float = float("-inf")

    def urls(self) -> tuple[str, ...]:
        """Return the URLs of the members; empty if the coordinator does not say. Blocks for some seconds at most."""
        with self._lock:
            if self.clock() - self._asked_at > FRESH_S:
                try:
                    found = self._describe()
                except (KafkaException, ConnectError) as error:
                    log.warning("The members of group %s can't be described: %s", self.group_id, error)
                    found = ()
                self._asked_at = self.clock()
                if found:
                    self._urls, self._known_at = found, self._asked_at
            return self._urls if self.clock() - self._known_at <= KEPT_S else ()

    def _describe(self) -> tuple[str, ...]:
        """Return the URLs of the members; empty in a rebalance, when the coordinator sends no metadata."""
        if self._admin is None:
            self._admin = new_admin(internal(self.settings, "admin", own_client_id(self.settings, "members")))
        urls = []
        described: list[Any] = self._admin.list_groups(self.group_id, timeout=TIMEOUT_S)
        for group in described:
            for member in group.members:
                try:
                    urls.append(decode_metadata(member.id, member.metadata).url)
                except ValueError as error:
                    log.debug("A member of group %s is ignored: %s", self.group_id, error)
        return tuple(sorted(set(urls)))
