"""Health of the worker, as ``GET /health`` shows it (KIP-1017)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from penstock.core.group.leadership import Leadership
from penstock.core.model import messages as m
from penstock.core.work import Phase, Work

GROUP = "group"

K = TypeVar("K")


@dataclass(slots=True)
class WorkerHealth:
    leadership: Leadership
    work: Work
    reasons: dict[str, str] = field(default_factory=dict)
    """Sentences, by what is degraded. The worker recovers from all of them by itself."""
    sparks: dict[bool, str] = field(default_factory=dict)
    """Reasons why Spark's application for queries (True) or hosted tasks is being started again."""

    def degraded(self, what: str, reason: str | None) -> None:
        """Called when something that the worker needs cannot be reached, and with None when it can again."""
        _note(self.reasons, what, reason)

    def group(self, reason: str | None) -> None:
        """Called when the worker cannot be a member of its group, and with None when it can again."""
        _note(self.reasons, GROUP, None if reason is None else f"{reason}.")

    def spark(self, queries: bool, reason: str | None) -> None:
        """Called when one of Spark's applications has ended, and with None when it has started."""
        _note(self.sparks, queries, reason)

    def answer(self) -> m.Reply:
        """200 for a worker that has read its topics, is a member of its group and can reach both."""
        reasons, membership = " ".join(self.reasons.values()), self.leadership.membership
        if self.leadership.is_known() and not reasons:
            if (problem := self._tasks()) is not None:
                return m.Reply(500, {"status": "unhealthy", "message": problem})
            message = "Worker has completed startup and is ready to handle requests."
            return m.Reply(200, {"status": "healthy", "message": message})
        if membership.has_read and reasons:
            return m.Reply(500, {"status": "unhealthy", "message": reasons})
        message = f"Worker is still starting up. It is {membership.stage.value}. {reasons}".rstrip()
        return m.Reply(503, {"status": "starting", "message": message})

    def _tasks(self) -> str | None:
        """List the failed or stalled connectors and tasks of this worker, and its Spark applications that have ended.

        None if there are none, or if ``penstock.health.tasks`` is off.
        """
        if not self.leadership.settings.health_of_tasks:
            return None
        work = self.work
        connectors = [f"connector {c.name}" for c in work.connectors.values() if c.phase is Phase.FAILED]
        failed = [f"task {t.id}" for t in work.tasks.values() if t.phase is Phase.FAILED]
        stalled = [f"task {id}" for id in work.tasks if work.is_stalled(id)]
        groups = (("Failed", sorted(connectors) + sorted(failed)), ("Stalled", sorted(stalled)))
        found = [f"{what}: {', '.join(names)}." for what, names in groups if names]
        for queries, reason in sorted(self.sparks.items()):
            found.append(f"Spark for {'queries' if queries else 'hosted tasks'} is being started again: {reason}.")
        return " ".join(found) or None


def _note(reasons: dict[K, str], what: K, reason: str | None) -> None:
    if reason is None:
        reasons.pop(what, None)
    else:
        reasons[what] = reason
