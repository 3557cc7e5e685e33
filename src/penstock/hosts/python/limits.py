"""What the process of a plugin may use; the kernel holds it to that (``setrlimit``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.errors import ConnectError

MEMORY = "penstock.plugin.max.memory.bytes"
CPU = "penstock.plugin.max.cpu.ms"


class LimitError(ConnectError):
    """A plugin has used more than its limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    memory: int | None = None
    """Bytes of data: what it has allocated, whether it is touched or not."""
    cpu: int | None = None
    """Seconds of processor time, of each of its processes."""

    @classmethod
    def of(cls, connector: Mapping[str, str], worker: Mapping[str, str]) -> Self:
        """The smaller of what the connector and its worker say."""
        cpu = _least(CPU, connector, worker)
        return cls(_least(MEMORY, connector, worker), None if cpu is None else -(-cpu // 1000))

    def options(self) -> dict[str, Any]:
        return {"memory": self.memory, "cpu": self.cpu}

    def memory_exceeded(self) -> LimitError:
        return LimitError(f"The plugin needs more memory than {MEMORY}={self.memory} allows")

    def cpu_exceeded(self) -> LimitError:
        return LimitError(f"The plugin has used up its processor time: {CPU} allows {self.cpu} s for each process")


NO_LIMITS = Limits()


def _least(name: str, *configs: Mapping[str, str]) -> int | None:
    given = [int(value) for config in configs if (value := (config.get(name) or "").strip())]
    return min(given, default=None)
