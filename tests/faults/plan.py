"""Which faults come, and when: all that chance decides in a run comes from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

PROCESSES = ("worker", "driver", "java", "daemon", "task")
"""Of whom a victim may be; all but the first belong to a worker's Spark."""
WITH_JARS = (*PROCESSES, "jvm")
"""Where connectors are jars: a JVM of plugins too, the worker's or a connector's."""

KINDS = {
    "kill": "SIGKILL to a process of a worker",
    "freeze": "SIGSTOP to a process of a worker, and SIGCONT after a while",
    "broker-freeze": "the same to the broker",
    "broker-kill": "SIGKILL to the broker, which is then started again on its data",
    "delay": "all that workers and tasks say to the broker, and it to them, is late for a while",
    "cut": "nothing passes between them and the broker for a while",
    "reset": "their connections to the broker are reset",
    "restart": "a connector is restarted with its tasks by REST",
    "topic": "a mirrored topic is deleted and created again",
    "slot": "a replication slot of PostgreSQL is dropped, and mostly created again",
    "file": "the file of a source is replaced by another of its name",
    "offsets": "a connector is stopped, its offset is set back by REST, and it is resumed",
    "pause": "a connector is paused for a while by REST",
    "verbose": "a connector gets a configuration with which its plugin prints and logs without end for a while",
    "twin": "a process is killed of one of two clusters that have a sink of the same name",
}
OF_THE_BROKER = frozenset({"broker-freeze", "broker-kill", "delay", "cut", "reset"})
"""Need a ``faults.broker.FaultyBroker``."""
OF_ORIGINS = frozenset({"topic", "slot", "file", "offsets", "pause", "verbose", "twin"})
"""Need the connectors of ``soak.origins``."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Times in seconds: ``pause`` after the fault before, ``seconds`` that it lasts."""

    kind: str
    pause: float
    seconds: float
    process: str
    """Of whom the victim is, see PROCESSES and WITH_JARS."""
    choice: float
    """Which one of them: from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Times in seconds. ``between``: from one fault to the next, on average; each pause is up to twice as long."""

    seed: int
    number: int
    kinds: tuple[str, ...] = ("kill",)
    between: float = 8.0
    freeze: tuple[float, float] = (2.0, 40.0)
    """How long a process of a worker is frozen, at least and at most."""
    broker: tuple[float, float] = (2.0, 15.0)
    """How long a fault of the broker or of the way to it lasts."""
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
