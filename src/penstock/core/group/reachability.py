"""Whether the group's coordinator can be reached. If not, a worker must stop its tasks before others get them.

Java's ``WorkerCoordinator.poll`` revokes everything when it has not found the coordinator for one heartbeat interval.
The same here, and also when heartbeats stay unanswered, so that the worker notices within its session timeout: until
that has passed since the last answer, the broker gives nothing of its work to anyone else.
"""

from __future__ import annotations


class Reachability:
    """Fed at short intervals; all times in milliseconds of one clock."""

    def __init__(self, session_timeout_ms: int, heartbeat_interval_ms: int) -> None:
        self.patience_ms = min(heartbeat_interval_ms, session_timeout_ms // 3)
        self.silence_ms = max(session_timeout_ms - 2 * self.patience_ms, heartbeat_interval_ms)
        self.doubted_since_ms: int | None = None
        self.observed_ms: int | None = None
        self.since_ms = 0

    def observe(self, now_ms: int, *, coordinator_known: bool, unanswered_ms: int) -> bool:
        """False once the coordinator has been out of reach for too long.

        ``unanswered_ms`` is the time since the last answer to a heartbeat, 0 while none are sent. After a pause of the
        whole process (a suspended machine) the count starts again: the next heartbeat shows whether the member is still
        in the group.
        """
        if self.observed_ms is None or now_ms - self.observed_ms > self.patience_ms:
            self.since_ms = now_ms
            self.doubted_since_ms = None
        self.observed_ms = now_ms
        if coordinator_known and min(unanswered_ms, now_ms - self.since_ms) <= self.silence_ms:
            self.doubted_since_ms = None
            return True
        if self.doubted_since_ms is None:
            self.doubted_since_ms = now_ms
        return now_ms - self.doubted_since_ms < self.patience_ms
