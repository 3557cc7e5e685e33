"""Whether the worker is healthy, as ``GET /health`` answers (KIP-1017)."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.core.group.leadership import Leadership
from penstock.core.group.membership import CoordinatorFound, CoordinatorUnknown, Failed, Joined
from penstock.core.model import messages as m
from penstock.core.model.events import Degraded
from penstock.core.model.tasks import SparkDied, SparkReady
from penstock.core.work import Phase, Work

GROUP = "group"


@dataclass(slots=True)
class WorkerHealth:
    leadership: Leadership
    work: Work
    reasons: dict[str, str] = field(default_factory=dict)
    """Sentences, by what is degraded. The worker recovers from all of them without anybody's action here."""
    sparks: dict[bool, str] = field(default_factory=dict)
    """Why Spark's application for queries (True) or hosted tasks is being started again."""

    def follow(self, event: object) -> None:
        """Called with every event."""
        match event:
            case Degraded(what, reason) if reason is not None:
                self.reasons[what] = reason
            case Degraded(what):
                self.reasons.pop(what, None)
            case SparkDied(reason, queries):
                self.sparks[queries] = reason
            case SparkReady(queries=queries):
                self.sparks.pop(queries, None)
            case CoordinatorUnknown(reason) | Failed(reason):
                self.reasons[GROUP] = f"{reason}."
            case CoordinatorFound() | Joined():
                self.reasons.pop(GROUP, None)

    def answer(self) -> m.Reply:
        """Healthy is a worker that has read its topics, is a member of its group and can reach both."""
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
        """Which connectors and tasks of this worker are failed or stalled, and which of its Spark applications have
        ended, if ``penstock.health.tasks`` asks for it.
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
