"""A minimal worker: its member of a group on a real broker, and a loop that runs the member's assignment."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from penstock.core.group.membership import ClusterConfigSnapshot, GroupEvent, Joined, Lost, Revoked
from penstock.core.model.tasks import TaskId
from penstock.kafka.group.member import GroupMember

CONFIG = ClusterConfigSnapshot(5, {"c0": 3, "c1": 1})
ALL = {"c0", "c1", TaskId("c0", 0), TaskId("c0", 1), TaskId("c0", 2), TaskId("c1", 0)}
PATIENCE_S = 900.0


class Worker:
    """A loop that starts and stops what its member is assigned, and rejoins when it must."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        name: str,
        *,
        protocol: str = "sessioned",
        max_delay_ms: int = 0,
        snapshot: ClusterConfigSnapshot = CONFIG,
        **settings: str,
    ) -> None:
        # Nothing here waits for these times to be over: a machine may be so busy that shorter ones are.
        timeouts = {"session.timeout.ms": "30000", "heartbeat.interval.ms": "500", "rebalance.timeout.ms": "60000"}
        timeouts |= {key.replace("_", "."): value for key, value in settings.items()}
        self.name = name
        self.events: list[GroupEvent] = []
        self.running: set[str | TaskId] = set()
        self.assignment: Joined | None = None
        self.confirms = True
        self.alive = True
        self.turns = 0
        self._queue: queue.Queue[GroupEvent | None] = queue.Queue()
        self.member = GroupMember(
            {"bootstrap.servers": bootstrap, "client.id": name, **timeouts},
            group,
            f"http://{name}:8083/",
            protocol,
            max_delay_ms,
            self._queue.put,
        )
        self.member.publish(snapshot)
        self.member.start()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        rejoin_at = float("inf")
        while True:
            self.turns += 1
            if self.alive:
                self.member.tick()
            try:
                event = self._queue.get(timeout=0.05)
            except queue.Empty:
                if time.monotonic() >= rejoin_at:
                    rejoin_at = float("inf")
                    self.member.request_rejoin("the scheduled delay is over")
                continue
            if event is None:
                return
            self.events.append(event)
            match event:
                case Revoked(connectors=connectors, tasks=tasks) | Lost(connectors=connectors, tasks=tasks):
                    self.running -= {*connectors, *tasks}
                    if self.confirms:
                        event.done()
                case Joined(assignment=told) if not told.failed:
                    self.assignment = event  # before what tests wait for
                    self.running |= {*told.connectors, *told.tasks}
                    rejoin_at = time.monotonic() + told.delay_ms / 1000 if told.delay_ms else float("inf")
                    if told.revoked_connectors or told.revoked_tasks:
                        self.member.request_rejoin("something was revoked")

    def go_round(self, turns: int) -> None:
        """Wait for this number of turns of its loop, at most 20 per second; a heartbeat is sent every ten turns."""
        enough = self.turns + turns
        until(lambda: self.turns >= enough, f"{turns} turns of {self.name}")

    def seen(self, kind: type[GroupEvent]) -> list[GroupEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def stop(self) -> None:
        self.member.leave_and_stop(10.0)
        self._queue.put(None)
        self._thread.join()


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.02)


def settled(*workers: Worker) -> bool:
    running = [item for worker in workers for item in worker.running]
    sizes = [len(worker.running) for worker in workers]
    return len(running) == len(ALL) and set(running) == ALL and max(sizes) - min(sizes) <= 2
