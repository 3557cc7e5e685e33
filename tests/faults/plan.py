"""Plan of the faults of a run and their times: every random choice is made from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

PROCESSES = ("worker", "driver", "java", "daemon", "task")
"""Kinds of processes that a fault may hit; all but the first belong to a worker's Spark."""
WITH_JARS = (*PROCESSES, "jvm")
"""The same for connectors from jars: also a JVM for plugins, the worker's or a connector's."""

KINDS = {
    "kill": "SIGKILL to a process of a worker",
    "freeze": "SIGSTOP to a process of a worker, and SIGCONT after a while",
    "broker-freeze": "SIGSTOP to the broker, and SIGCONT after a while",
    "broker-kill": "SIGKILL to the broker, which is then restarted with its data",
    "delay": "data between the broker and its clients are delayed for a while",
    "cut": "nothing passes between the broker and its clients for a while",
    "reset": "the connections of clients to the broker are reset",
    "restart": "a connector is restarted with its tasks by REST",
    "topic": "a mirrored topic is deleted and created again",
    "slot": "a replication slot of PostgreSQL is dropped, and mostly created again",
    "file": "the file of a source is replaced by another of its name",
    "offsets": "a connector is stopped, its offset is set back by REST, and it is resumed",
    "pause": "a connector is paused for a while by REST",
    "verbose": "a connector gets a configuration with which its plugin prints and logs without end for a while",
    "twin": "a process of one of two clusters that have a sink of the same name is killed",
}
OF_THE_BROKER = frozenset({"broker-freeze", "broker-kill", "delay", "cut", "reset"})
"""Kinds of faults that need a ``faults.broker.FaultyBroker``."""
OF_ORIGINS = frozenset({"topic", "slot", "file", "offsets", "pause", "verbose", "twin"})
"""Kinds of faults that need the connectors of ``soak.origins``."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, with times in seconds: ``pause`` is the time since the fault before, ``seconds`` its duration."""

    kind: str
    pause: float
    seconds: float
    process: str
    """Kind of the process that the fault hits: one of PROCESSES or WITH_JARS."""
    choice: float
    """Number from 0 to 1 that selects one of these processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Plan of a run, with times in seconds. ``between`` is the mean time between faults; a pause is at most twice
    that.
    """

    seed: int
    number: int
    kinds: tuple[str, ...] = ("kill",)
    between: float = 8.0
    freeze: tuple[float, float] = (2.0, 40.0)
    """Minimum and maximum time for which a process of a worker is frozen."""
    broker: tuple[float, float] = (2.0, 15.0)
    """Minimum and maximum duration of a fault of the broker or of the connection to it."""
    processes: tuple[str, ...] = PROCESSES

    def faults(self) -> list[Fault]:
        chance = random.Random(self.seed)
        return [self._fault(chance) for _ in range(self.number)]

    def _fault(self, chance: random.Random) -> Fault:
        # Always the same draws in the same order: a run with a longer freeze has its other faults at the same time.
        kind = chance.choice(self.kinds)
        pause, long, process, choice = chance.random(), chance.random(), chance.choice(self.processes), chance.random()
        least, most = self.broker if kind in OF_THE_BROKER else self.freeze
        return Fault(kind, 2 * self.between * pause, least + (most - least) * long, process, choice)
