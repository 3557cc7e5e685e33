"""What a step costs: processor time, so that other work on the machine does not count, and memory at its peak."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: float
    megabytes: float
    """What the step held at most, beyond what was there before."""


def cost(step: Callable[[], T]) -> tuple[T, Cost]:
    """Carry the step out twice, since memory is measured at the expense of time; the second outcome is given."""
    started = time.process_time()
    step()
    seconds = time.process_time() - started
    tracemalloc.start()
    try:
        outcome = step()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return outcome, Cost(seconds, peak / 2**20)
