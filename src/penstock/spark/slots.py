"""How many tasks a Spark runs at a time, and how hosted tasks and queries divide the slots of a cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from penstock.api.errors import ConfigError


def slots(conf: Mapping[str, str]) -> int:
    """How many tasks this Spark runs at a time. Raises ConfigError where its configuration leaves that open."""
    master, cores = conf["spark.master"], _cores_of_a_task(conf)
    if master == "local":
        return 1 // cores
    if match := re.fullmatch(r"local\[\s*(\d+|\*)\s*(?:,\s*\d+\s*)?]", master):
        return (int(match[1]) if match[1] != "*" else os.cpu_count() or 1) // cores
    if match := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*]", master):
        return int(match[1]) * (int(match[2]) // cores)
    if master.startswith("spark://"):
        return _required(conf, "spark.cores.max", master) // cores
    return _required(conf, "spark.executor.instances", master) * (_count(conf, "spark.executor.cores") // cores)


def limit(conf: Mapping[str, str], number: int) -> dict[str, str]:
    """The settings by which an application gets no more than so many slots of its cluster, in whole executors.

    A local Spark has threads for slots, and shares them with no other.
    """
    master, cores = conf["spark.master"], _cores_of_a_task(conf)
    if master.startswith("local"):
        return {}
    if master.startswith("spark://"):
        return {"spark.cores.max": str(number * cores)}
    of_an_executor = max(1, _count(conf, "spark.executor.cores") // cores)
    return {"spark.executor.instances": str(max(1, number // of_an_executor))}


def with_retries(master: str, failures: str) -> str:
    """A local Spark takes the number of its tasks' failures from its master alone, and without it retries nothing."""
    if master == "local":
        return f"local[1,{failures}]"
    if match := re.fullmatch(r"local\[\s*(\d+|\*)\s*]", master):
        return f"local[{match[1]},{failures}]"
    return master


def _cores_of_a_task(conf: Mapping[str, str]) -> int:
    return _count(conf, "spark.task.cpus")


def _count(conf: Mapping[str, str], key: str) -> int:
    given = conf.get(key, "1").strip()
    if not re.fullmatch("[0-9]+", given) or int(given) < 1:
        raise ConfigError(key, given, "must be a whole number, 1 or more")
    return int(given)


def _required(conf: Mapping[str, str], key: str, master: str) -> int:
    given = conf.get(key, "")
    if not given.isdigit() or int(given) < 1:
        raise ConfigError(
            f"{key} is required with spark.master={master} (it is `{given}`): "
            "the slots for tasks are counted by it, since a hosted task keeps its slot for as long as it runs."
        )
    return int(given)
