"""Whether the worker is well, as ``GET /health`` tells it (KIP-1017)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.core.group.membership import CoordinatorFound, CoordinatorUnknown, Failed, Joined
from penstock.core.model import messages as m
from penstock.core.model.events import Trouble

if TYPE_CHECKING:
    from penstock.core.herder import Herder

GROUP = "group"


@dataclass(slots=True)
class Health:
    troubles: dict[str, str] = field(default_factory=dict)
    """By what is affected: sentences. All of them end without anybody's doing here."""

    def follow(self, event: object) -> None:
        """Told of every event."""
        match event:
            case Trouble(what, reason) if reason is not None:
                self.troubles[what] = reason
            case Trouble(what):
                self.troubles.pop(what, None)
            case CoordinatorUnknown(reason) | Failed(reason):
                self.troubles[GROUP] = f"{reason}."
            case CoordinatorFound() | Joined():
                self.troubles.pop(GROUP, None)


def answer(herder: Herder) -> m.Reply:
    """Well is a worker that has read its topics, is a member of its group and can reach both."""
    troubles = " ".join(herder.health.troubles.values())
    if herder.ready_to_lead() and not troubles:
        message = "Worker has completed startup and is ready to handle requests."
        return m.Reply(200, {"status": "healthy", "message": message})
    if herder.has_read and troubles:
        return m.Reply(500, {"status": "unhealthy", "message": troubles})
    message = f"Worker is still starting up. It is {herder.phase.value}. {troubles}".rstrip()
    return m.Reply(503, {"status": "starting", "message": message})
