"""Cost of a step: processor time, so that other work on the machine does not count, and peak memory."""

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
    """Peak of the memory that the step allocated."""


def cost(step: Callable[[], T]) -> tuple[T, Cost]:
    """Run the step twice, since measuring memory takes time; return the second result."""
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
