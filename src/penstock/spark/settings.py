"""How Spark is started: Penstock's defaults, what it requires, and the ``spark.*`` settings of the worker.

A hosted task is one long Spark task that must never run twice and that does its own input and output, which is not
what Spark's defaults are made for. What the user sets goes to Spark as it is, unless it would break a promise of hosted
tasks; then the worker does not start.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.api.errors import ConfigError

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

PLUGIN_PATH = "PENSTOCK_PLUGIN_PATH"
"""The variable that tells the process from which tasks are forked what to import for them."""

LEASE = 10_000
KAFKA_SOURCE = "spark-sql-kafka"

SLOTS = 512
"""Hosted tasks that the local Spark runs at most: they wait for Kafka and files much more than they compute."""

# Serial collection, a small first heap: Java has next to nothing to do for hosted tasks, and its memory is then 170 MB
# instead of 300. The second compiler stays on: queries run in Java, and without it only 25 MB less were used.
_JAVA = "-XX:+UseSerialGC -Xms64m -Xss512k -XX:-UsePerfData"

_CHOSEN = {
    "spark.app.name": "penstock",
    "spark.driver.memory": "512m",
    "spark.driver.defaultJavaOptions": _JAVA,
    "spark.executor.defaultJavaOptions": _JAVA,
    # It takes 10 MB and about a second of the start, and Connect's own REST API tells what most people want to know.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.locality.wait": "0",
    # Spark makes as many threads for messages as there are cores, and our local[512] has 512.
    "spark.rpc.netty.dispatcher.numThreads": "4",
    "spark.default.parallelism": str(os.cpu_count() or 1),
}

_REQUIRED = {
    "spark.speculation": ("false", "a second copy of a task would read and write everything twice"),
    "spark.task.maxFailures": ("1", "it is Connect that restarts tasks, when it is asked to"),
    "spark.python.use.daemon": ("true", "every task is forked from a process that has imported Penstock"),
    "spark.python.daemon.module": ("penstock.spark.daemon", "every task is forked from it"),
    "spark.python.worker.reuse": ("false", "the process of a task must end with it"),
    "spark.python.worker.killOnIdleTimeout": ("false", "a task that waits for records would be killed"),
    "spark.task.reaper.enabled": ("true", "a cancelled task that does not end would stay unnoticed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What the hosting of tasks needs to know; times in seconds."""

    spark: Mapping[str, str] = field(default_factory=dict)
    """The ``spark.*`` keys of the worker's properties."""
    worker_id: str = "worker"
    lease: float = 10.0
    """``penstock.task.lease.ms``: a task ends, and its worker gives it up, after so long without a heartbeat.

    By default so short that the tasks of a worker that hangs have ended before its group expels it.
    """
    graceful: float = 5.0
    """``task.shutdown.graceful.timeout.ms``: how long a stopped task may take to end gracefully."""
    query_slots: int = 0
    """``penstock.query.slots``: slots of Spark that hosted tasks leave to queries."""
    plugin_path: tuple[str, ...] = ()
    """``plugin.path``; what it holds is imported before tasks are forked."""
    advertised_host: str = ""
    """Where tasks on other machines reach this worker; a local Spark does not need it."""

    @classmethod
    def of(cls, properties: Mapping[str, str], worker_id: str = "worker", advertised_host: str = "") -> HostSettings:
        """From the worker's properties. Raises ConfigError."""
        longest = longest_lease(properties)
        lease = _number(properties, "penstock.task.lease.ms", longest, 1_000)
        if lease > longest:
            log.warning(
                "With `penstock.task.lease.ms=%d` the tasks of a worker that hangs may go on when its group gives them "
                "to others; up to %d that can't be, with these `session.timeout.ms` and `heartbeat.interval.ms`",
                lease,
                longest,
            )
        return cls(
            spark={key: value for key, value in properties.items() if key.startswith("spark.")},
            worker_id=worker_id,
            lease=lease / 1000,
            graceful=_number(properties, "task.shutdown.graceful.timeout.ms", 5_000, 0) / 1000,
            query_slots=_number(properties, "penstock.query.slots", 0, 0),
            plugin_path=tuple(path for each in properties.get("plugin.path", "").split(",") if (path := each.strip())),
            advertised_host=advertised_host or properties.get("rest.advertised.host.name", ""),
        )

    @property
    def local(self) -> bool:
        """Whether the processes of tasks are on this machine."""
        return self.spark.get("spark.master", "local").startswith("local")

    @property
    def brings_kafka_source(self) -> bool:
        """Whether the user's own jars have Spark's Kafka source."""
        return any(KAFKA_SOURCE in self.spark.get(key, "") for key in ("spark.jars", "spark.jars.packages"))

    def conf(self) -> dict[str, str]:
        """The configuration Spark is started with. Raises ConfigError where ``spark`` contradicts what is
        required.
        """
        for key, (value, why) in _REQUIRED.items():
            if (given := self.spark.get(key, value)).strip().lower() != value.lower():
                raise ConfigError(f"{key}={given} can't be used, because {why}: leave it out, or set it to {value}.")
        conf = _CHOSEN | {key: value for key, (value, _) in _REQUIRED.items()}
        if self.local:
            conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        conf |= {"spark.master": f"local[{SLOTS}]", "spark.pyspark.python": sys.executable} | dict(self.spark)
        conf.setdefault(f"spark.executorEnv.{PLUGIN_PATH}", ",".join(self.plugin_path))
        # A local cluster's executors don't inherit what this process found Penstock by.
        if (path := os.environ.get("PYTHONPATH")) and self.local:
            conf.setdefault("spark.executorEnv.PYTHONPATH", path)
        if slots(conf) <= self.query_slots:
            raise ConfigError(
                f"penstock.query.slots={self.query_slots} leaves nothing for hosted tasks: "
                f"Spark has {slots(conf)} slots (spark.master={conf['spark.master']})."
            )
        return conf


def longest_lease(properties: Mapping[str, str]) -> int:
    """Milliseconds: a worker that hangs may have sent its last heartbeat a whole interval before."""
    if "group.id" not in properties:
        return LEASE
    session = _number(properties, "session.timeout.ms", 10_000, 0)
    heartbeat = _number(properties, "heartbeat.interval.ms", 3_000, 0)
    return max(min(LEASE, session - heartbeat), 1_000)


def slots(conf: Mapping[str, str]) -> int:
    """How many tasks this Spark runs at a time. Raises ConfigError where its configuration leaves that open."""
    master = conf["spark.master"]
    if master == "local":
        return 1
    if match := re.fullmatch(r"local\[\s*(\d+|\*)\s*(?:,\s*\d+\s*)?]", master):
        return int(match[1]) if match[1] != "*" else os.cpu_count() or 1
    if match := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*]", master):
        return int(match[1]) * int(match[2])
    if master.startswith("spark://"):
        return _required(conf, "spark.cores.max", master)
    return _required(conf, "spark.executor.instances", master) * int(conf.get("spark.executor.cores", "1"))


def environment(conf: Mapping[str, str]) -> dict[str, str]:
    """The environment of Spark's driver, and through it of its Java and, on this machine, of the tasks."""
    from penstock.embedded import java_home

    ours = {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": conf["spark.pyspark.python"],
        # Threads of librdkafka and Java would each get an arena of their own.
        "MALLOC_ARENA_MAX": "2",
    }
    if conf["spark.master"].startswith("local"):
        ours["SPARK_LOCAL_IP"] = "127.0.0.1"
    return {**os.environ, **ours}


def start(conf: Mapping[str, str]) -> SparkContext:
    """Start Spark in this process. Called once, by the driver."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    import pyspark.sql.types
    from py4j import protocol
    from pyspark import SparkConf, SparkContext

    # These two ask pyspark.testing whether there is NumPy, which imports pandas and PyArrow: 80 MB, for values that
    # are never passed here.
    numpy = (pyspark.sql.types.NumpyArrayConverter, pyspark.sql.types.NumpyScalarConverter)
    protocol.INPUT_CONVERTER[:] = [one for one in protocol.INPUT_CONVERTER if not isinstance(one, numpy)]
    return SparkContext(conf=SparkConf().setAll(list(conf.items())))


def _number(properties: Mapping[str, str], key: str, default: int, least: int) -> int:
    given = properties.get(key, str(default)).strip()
    if not re.fullmatch(r"\d+", given) or int(given) < least:
        raise ConfigError(key, given, f"must be a whole number, {least} or more")
    return int(given)


def _required(conf: Mapping[str, str], key: str, master: str) -> int:
    given = conf.get(key, "")
    if not given.isdigit() or int(given) < 1:
        raise ConfigError(
            f"{key} is required with spark.master={master} (it is `{given}`): "
            "the slots for tasks are counted by it, since a hosted task keeps its slot for as long as it runs."
        )
    return int(given)
