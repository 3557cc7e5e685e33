"""What the process of a plugin may use; the kernel holds it to that (``cgroup``, else ``setrlimit``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError

MEMORY = "penstock.plugin.max.memory.bytes"
CPU = "penstock.plugin.max.cpu.ms"
PERCENT = "penstock.plugin.max.cpu.percent"


class LimitError(ConnectError):
    """A plugin has used more than its limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    memory: int | None = None
    """Bytes: in a group what it uses, with all that it starts; else what it has allocated, touched or not."""
    cpu: int | None = None
    """Seconds of processor time, of each of its processes."""
    percent: int | None = None
    """Of a processor, at any time, with all that it starts: 150 is one and a half. Needs a group."""

    @classmethod
    def of(cls, connector: Mapping[str, str], worker: Mapping[str, str]) -> Self:
        """The smaller of what the connector and its worker say."""
        cpu = _least(CPU, connector, worker)
        seconds = None if cpu is None else -(-cpu // 1000)
        return cls(_least(MEMORY, connector, worker), seconds, _least(PERCENT, connector, worker))

    def options(self, in_group: bool) -> dict[str, Any]:
        """What ``setrlimit`` is to hold; ``in_group``: the rest is held by a group."""
        return {"memory": None if in_group else self.memory, "cpu": self.cpu}

    def memory_exceeded(self) -> LimitError:
        return LimitError(f"The plugin needs more memory than {MEMORY}={self.memory} allows")

    def cpu_exceeded(self) -> LimitError:
        return LimitError(f"The plugin has used up its processor time: {CPU} allows {self.cpu} s for each process")


NO_LIMITS = Limits()


def _least(name: str, *configs: Mapping[str, str]) -> int | None:
    given = [
        parse_type(name, value, ConfigType.LONG) for config in configs if (value := (config.get(name) or "").strip())
    ]
    return min(given, default=None)
