"""Settings by which a cluster manager keeps an application for weeks, and gives its executors enough memory.

They are added where nobody has set them: neither the worker's properties nor Spark's ``spark-defaults.conf``. A
standalone cluster needs none: its master counts only failures in a row, and its executors have the memory of their
machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_INTERVAL = "1h"
"""A cluster on which several executors fail in each hour is broken; its application ends and is started again."""
_FORGETS_EXECUTORS = "spark.executor.failuresValidityInterval"
_FORGETS_MASTERS = "spark.yarn.am.attemptFailuresValidityInterval"
_OLD_NAME = "spark.yarn.executor.failuresValidityInterval"

_OVERHEAD = "spark.executor.memoryOverhead"
_MEMORY_IS_SET = (
    _OVERHEAD,
    "spark.executor.memoryOverheadFactor",
    "spark.kubernetes.memoryOverheadFactor",
    "spark.yarn.executor.memoryOverhead",
    "spark.executor.pyspark.memory",
)
"""Settings by one of which an operator has decided about memory outside of Java."""

HOSTED_MIB, QUERY_MIB = 224, 448
"""Memory of the Python process of a slot, for hosted tasks and for queries: what docs/spark.md has measured, and some
more.
"""

_SPARKS_MEMORY, _SPARKS_MINIMUM, _SPARKS_FACTOR = "1g", "384m", 0.1
"""Spark's defaults of an executor's memory, and of what it adds to that itself."""
_UNITS = {"b": 1 / 1024**2, "k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}


def defaults(given: Mapping[str, str], queries: bool = False) -> dict[str, str]:
    """Return the settings to add to those of an application, of hosted tasks or of queries, by its cluster manager."""
    master = given["spark.master"]
    yarn = master.startswith("yarn")
    if not yarn and not master.startswith("k8s"):
        return {}
    chosen = {}
    # Both managers end an application after a number of failures, and without an interval they count them forever.
    if _FORGETS_EXECUTORS not in given and _OLD_NAME not in given:
        chosen[_FORGETS_EXECUTORS] = _INTERVAL
    if yarn and _FORGETS_MASTERS not in given:
        chosen[_FORGETS_MASTERS] = _INTERVAL
    if not any(key in given for key in _MEMORY_IS_SET) and (
        overhead := _overhead(given, QUERY_MIB if queries else HOSTED_MIB)
    ):
        chosen[_OVERHEAD] = f"{overhead}m"
    return chosen


def _overhead(given: Mapping[str, str], of_a_process: int) -> int | None:
    """Return the MiB that an executor needs outside of Java's heap; None if its settings are not valid.

    Not by ``spark.executor.pyspark.memory``, which also limits the address space of each Python process: that of
    threads, of mapped files and of a plugin's JVM is many times the memory that they use.
    """
    memory = _mebibytes(given.get("spark.executor.memory", _SPARKS_MEMORY))
    least = _mebibytes(given.get("spark.executor.minMemoryOverhead", _SPARKS_MINIMUM))
    cores, of_a_task = (given.get(key, "1").strip() for key in ("spark.executor.cores", "spark.task.cpus"))
    if memory is None or least is None or not (cores.isdigit() and of_a_task.isdigit() and int(of_a_task)):
        return None
    # Beside the process of each slot there is the one that they are forked from.
    processes = int(cores) // int(of_a_task) + 1
    return max(int(memory * _SPARKS_FACTOR), least) + processes * of_a_process


def _mebibytes(size: str) -> int | None:
    """Return a size in Spark's notation, where a number without a unit counts MiB; None if it is not valid."""
    found = re.fullmatch(r"(\d+)(?:([kmgtp])b?|(b?))", size.strip().lower())
    return int(int(found[1]) * _UNITS[found[2] or found[3]]) if found else None
