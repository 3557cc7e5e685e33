"""Progress of a simulated cluster: the order in which what is under way happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.model import events as e
from simulation.group import Group
from simulation.worker import Worker

Effect = Callable[[], None]


class Progress:
    """Everything that is under way, in channels that keep their order.

    Without ``pick`` it happens in a fixed order as soon as it can. ``pick`` is given the channels on which something is
    under way, and returns the index of the one that advances.
    """

    workers: dict[str, Worker]
    group: Group
    pick: Callable[[list[str]], int] | None
    now: int

    def _tell(self, worker: Worker, event: Any) -> None:
        """Pass an event to the worker's herder, and carry out its actions."""
        raise NotImplementedError

    def settle(self) -> None:
        while self.step():
            pass

    def step(self) -> bool:
        """Let one thing that is under way happen; return False if there is none."""
        if self.pick is None:
            worker = next((w for w in self.workers.values() if w.under_way), None)
            if worker is not None:
                self._happen(worker, 0)
            elif self.group.wanted:
                self.group.decide(self.now)
            else:
                return False
            return True
        heads = {
            f"{worker.id} {channel}": (worker, i)
            for worker in self.workers.values()
            for i, (channel, _) in reversed(list(enumerate(worker.under_way)))
        }
        channels = sorted(heads) + (["group decides"] if self.group.can_decide() else [])
        if not channels:
            return False
        chosen = channels[self.pick(channels)]
        if chosen == "group decides":
            self.group.decide(self.now)
        else:
            self._happen(*heads[chosen])
        return True

    def _happen(self, worker: Worker, i: int) -> None:
        channel, what = worker.under_way.pop(i)
        if callable(what):
            what()
            return
        if isinstance(what, e.ConfigRead):
            what = worker.with_later(channel, what, self.pick)
        self._tell(worker, what)

    def _settle_unless_picked(self) -> None:
        if self.pick is None:
            self.settle()

    def post(self, worker: Worker, channel: str, event: Any) -> None:
        worker.under_way.append((channel, event))

    def _later(self, worker: Worker, channel: str, effect: Effect) -> None:
        """Have an effect at once or, with ``pick``, when its channel is chosen."""
        if self.pick is None:
            effect()
        else:
            worker.under_way.append((channel, effect))
