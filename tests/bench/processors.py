"""Processor time per record of each kind of process during a case with a database."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.tables import Table
from support.process_tree import command, descendants

DATABASE, BROKER, JAVA, PYTHON = "database", "broker", "Spark's Java", "Spark's Python"
CLIENT, LOOP, DRIVER = "Kafka client", "task's loop", "rest of the driver"
PARTS = (DATABASE, JAVA, PYTHON, DRIVER, LOOP, CLIENT, BROKER)
"""Parts; ``CLIENT`` and ``LOOP`` are threads of Spark's Python driver: librdkafka's and the busiest of the others."""

Look = Callable[[], Counter[str]]


@dataclass(frozen=True, slots=True)
class Use:
    """Microseconds per record by part; ``cores``: mean number of busy cores."""

    case: str
    about: str
    who: str
    cores: float
    microseconds: dict[str, float]


class Meter:
    """Measures the seconds by part from ``begin`` to ``end``; ``look`` returns those since the processes started."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._before: Counter[str] = Counter()
        self._began = self.seconds = 0.0
        self.spent: Counter[str] = Counter()

    def begin(self) -> None:
        self._before, self._began = self._look(), time.perf_counter()

    def end(self) -> None:
        self.seconds = time.perf_counter() - self._began
        self.spent = self._look()
        self.spent.subtract(self._before)

    def use(self, case: str, who: str, records: int) -> Use:
        cores = self.spent.total() / max(self.seconds, 1e-3)
        return Use(case, "", who, cores, {part: self.spent[part] / max(records, 1) * 1e6 for part in PARTS})


def looking(is_driver: Callable[[str], bool], database: int, broker: int) -> Look:
    """Return a function that reads the processor time of two processes with their descendants, and of Spark, whose
    driver is a descendant of this process and is recognized by its command line.
    """

    def look() -> Counter[str]:
        found = Counter({DATABASE: _whole(database), BROKER: _whole(broker)})
        for driver in descendants(os.getpid()):
            if is_driver(command(driver)):
                found.update(_spark(driver))
        return found

    return look


def table(uses: list[Use]) -> Table:
    rows = []
    for use in uses:
        cells = [f"{use.microseconds[part]:.1f}" for part in PARTS]
        rows.append([use.case, use.who, f"{use.cores:.2f}", f"{sum(use.microseconds.values()):.1f}", *cells])
    return Table(["case", "by", "cores", "µs a record", *PARTS], rows, names=2)


def _spark(driver: psutil.Process) -> dict[str, float]:
    """Return the seconds of a Python driver, the JVM below it, and the Python processes below that."""
    found = dict.fromkeys((JAVA, PYTHON), 0.0)
    for process in descendants(driver.pid):
        found[JAVA if "java" in process.name() else PYTHON] += seconds(process)
    client, others = 0.0, [0.0]
    for thread in driver.threads():
        spent = thread.user_time + thread.system_time
        if _name(driver.pid, thread.id).startswith("rdk:"):
            client += spent
        else:
            others.append(spent)
    loop = max(others)
    return {**found, CLIENT: client, LOOP: loop, DRIVER: seconds(driver, children=False) - client - loop}


def seconds(process: psutil.Process, children: bool = True) -> float:
    """Return the processor time of a process, and of its children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    ended = times.children_user + times.children_system if children else 0.0
    return float(times.user + times.system + ended)


def _whole(pid: int) -> float:
    return sum(map(seconds, [psutil.Process(pid), *descendants(pid)]))


def _name(pid: int, thread: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{thread}/comm").read_text()
    except OSError:
        return ""
