"""Shares of what a worker can do at a time: one client, whatever its role, leaves room for the others.

A client is a user, or without one an address. Its further requests wait until one of its own has been answered; those
that start a process are refused, as they are when all clients together start too many.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m

OF_PLUGINS = "plugins"
"""Requests that call plugins or compare configurations, each on a thread of its own."""
OF_PROCESSES = "processes"
"""Requests that start a process."""
OF_TOPICS = "topics"
"""Requests that read or write topics with clients of their own."""
KINDS: Mapping[type[m.Request], str] = {
    **dict.fromkeys(
        (
            local.ValidateConfig,
            local.GetPluginConfig,
            local.ListPlugins,
            local.CompareVersions,
            m.RollBack,
        ),
        OF_PLUGINS,
    ),
    **dict.fromkeys((local.Preview, local.ListRecords, local.CheckConfig, local.CheckConnector), OF_PROCESSES),
    **dict.fromkeys(
        (local.GetDeadLetter, local.ListDeadLetters, local.ReplayDeadLetters, local.PlanOffsets), OF_TOPICS
    ),
}
AT_ONCE: Mapping[str, int] = {OF_PLUGINS: 16, OF_PROCESSES: 2, OF_TOPICS: 4}
"""Requests of a client that are carried out at a time."""


@dataclass(slots=True)
class Shares:
    """Used by one event loop at a time."""

    _rooms: dict[tuple[str, str], _Room] = field(default_factory=dict)

    @asynccontextmanager
    async def room(self, client: str, request: m.Request) -> AsyncIterator[None]:
        """Hold a place for this request of a client until it has been answered.

        Raises Refused (429) where the client has none left and does not wait.
        """
        kind = KINDS.get(type(request))
        if isinstance(request, local.GetDeadLetter) and request.decoded:
            kind = OF_PROCESSES
        if kind is None:
            yield
            return
        room = self._rooms.setdefault((client, kind), _Room(asyncio.Semaphore(AT_ONCE[kind])))
        if kind == OF_PROCESSES and room.places.locked():
            under_way = f"{AT_ONCE[kind]} previews, searches of records or checks under way"
            raise m.Refused(429, f"{client} has {under_way}, the maximum; try again later")
        room.users += 1
        try:
            async with room.places:
                yield
        finally:
            room.users -= 1
            if not room.users:
                del self._rooms[client, kind]


@dataclass(slots=True)
class _Room:
    places: asyncio.Semaphore
    users: int = 0
    """Requests that have a place or wait for one."""
