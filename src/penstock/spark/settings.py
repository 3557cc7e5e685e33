"""Settings with which Spark is started: Penstock's defaults and requirements, and ``spark.*`` settings of the worker.

A worker has two Spark applications: one for hosted tasks, and one for queries, whose settings may differ. A hosted task
is one long Spark task that must never run twice and that does its own input and output, which is not what Spark's
defaults are made for. What the user sets goes to Spark as it is, unless it would break a promise of hosted tasks; then
the worker does not start.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.api.errors import ConfigError
from penstock.api.processes import ENVIRONMENT, child_environment
from penstock.core.config.secrets import LOOKS_SECRET
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm.build import KAFKA
from penstock.hosts.jvm.shipped import is_shipping, pack
from penstock.spark import cluster, remote
from penstock.spark.command_line import command_line
from penstock.spark.daemon import DRIVERS_PYTHON, PLUGIN_PATH
from penstock.spark.parent import popen
from penstock.spark.releases import LOG_STORE, OWN_LOG_STORE
from penstock.spark.same_results import SAME_RESULTS

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext

log = logging.getLogger(__name__)

LEASE = 10_000
QUERIES = "penstock.query."
"""Before a ``spark.*`` setting: it is for the application of queries alone."""
KAFKA_SOURCE = "spark-sql-kafka"

SLOTS = 512
"""Hosted tasks that the local Spark runs at most: they wait for Kafka and files much more than they compute."""

# Serial collection, a small first heap: Java has next to nothing to do for hosted tasks, and its memory is then 170 MB
# instead of 300.
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
    # What Spark does not show in its UI and its logs.
    "spark.redaction.regex": LOOKS_SECRET,
    "spark.sql.redaction.options.regex": ".*",  # an option of any name may be a secret
}
# The second compiler has nothing to gain there either, and takes a third of the time until Java is up. Queries run in
# Java, and keep it.
_JAVA_OF_HOSTED = f"{_JAVA} -XX:TieredStopAtLevel=1"
_OF_HOSTED = {
    "spark.driver.defaultJavaOptions": _JAVA_OF_HOSTED,
    "spark.executor.defaultJavaOptions": _JAVA_OF_HOSTED,
    # Of each stream between Java and a task, by default 64 KB; no records pass there.
    "spark.buffer.size": "4096",
}
_PROTECTED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
}
"""Settings where Spark makes the secret for them: not in standalone clusters, whose master would need to know it."""

_REQUIRED = {
    "spark.speculation": ("false", "a second copy of a task would read and write everything twice"),
    "spark.task.maxFailures": ("1", "it is Connect that restarts tasks, when it is asked to"),
    "spark.python.use.daemon": ("true", "every task is forked from a process that has imported Penstock"),
    "spark.python.daemon.module": ("penstock.spark.daemon", "every task is forked from it"),
    "spark.python.worker.reuse": ("false", "the process of a task must end with it"),
    "spark.python.worker.killOnIdleTimeout": ("false", "a task that waits for records would be killed"),
    "spark.task.reaper.enabled": ("true", "a cancelled task that does not end would stay unnoticed"),
}

_NO_DTD = "-Djavax.xml.accessExternalDTD="
"""Java's option by which no function of XML fetches a DTD that a document names; for queries, whatever users set."""
_ZONE = "-Duser.timezone="
"""Java's option of its time zone. Spark's ORC keeps instants as local times of this zone, and with that one of two
hours when its clocks are set back; so queries have UTC, unless users set another.
"""
# A query that fills the heap ends Java, and the worker starts it again; otherwise some threads would be missing.
_JAVA_OF_QUERIES = f"{_JAVA} -XX:+ExitOnOutOfMemoryError {_NO_DTD} {_ZONE}UTC"
_OF_QUERIES = SAME_RESULTS | {
    "spark.driver.memory": "1g",
    "spark.driver.defaultJavaOptions": _JAVA_OF_QUERIES,
    "spark.executor.defaultJavaOptions": _JAVA_OF_QUERIES,
}
_REQUIRED_BY_QUERIES = ("spark.python.use.daemon", "spark.python.daemon.module")
_FAILURES = "4"
"""Spark's own default of ``spark.task.maxFailures``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """Settings of the hosting of tasks; times in seconds."""

    spark: Mapping[str, str] = field(default_factory=dict)
    """The ``spark.*`` keys of the worker's properties."""
    query_spark: Mapping[str, str] = field(default_factory=dict)
    """The keys of ``penstock.query.spark.*``, which begin with ``spark.`` here; for queries they override ``spark``."""
    worker_id: str = "worker"
    lease: float = 10.0
    """``penstock.task.lease.ms``: a task ends, and its worker gives it up, after so long without a heartbeat.

    By default so short that the tasks of a worker that hangs have ended before its group expels it.
    """
    graceful: float = 5.0
    """``task.shutdown.graceful.timeout.ms``: how long a stopped task may take to end gracefully."""
    rebalance_timeout: float = 60.0
    """``rebalance.timeout.ms``: by then a revoked task has ended, or the worker leaves its group."""
    query_slots: int = 0
    """``penstock.query.slots``: slots of Spark that hosted tasks leave to queries; on a cluster those that the
    application of queries has.
    """
    plugin_path: tuple[str, ...] = ()
    """``plugin.path``; what it holds is imported before tasks are forked."""
    files: tuple[Path, ...] = ()
    """Files that Spark sends once to each executor that runs hosted tasks."""
    advertised_host: str = ""
    """Host at which tasks on other machines reach this worker; a local Spark does not need it."""

    @classmethod
    def of(cls, properties: Mapping[str, str], worker_id: str = "worker", advertised_host: str = "") -> HostSettings:
        """Read the worker's properties. Raises ConfigError."""
        longest = longest_lease(properties)
        lease = _number(properties, "penstock.task.lease.ms", longest, 1_000)
        if lease > longest:
            log.warning(
                "With `penstock.task.lease.ms=%d` the tasks of a worker that hangs may still run when its group "
                "assigns them to others. With these `session.timeout.ms` and `heartbeat.interval.ms` use %d or less",
                lease,
                longest,
            )
        settings = cls(
            spark={key: value for key, value in properties.items() if key.startswith("spark.")},
            query_spark={
                key.removeprefix(QUERIES): value
                for key, value in properties.items()
                if key.startswith(f"{QUERIES}spark.")
            },
            worker_id=worker_id,
            lease=lease / 1000,
            graceful=_number(properties, "task.shutdown.graceful.timeout.ms", 5_000, 0) / 1000,
            rebalance_timeout=_number(properties, "rebalance.timeout.ms", 60_000, 0) / 1000,
            query_slots=_number(properties, "penstock.query.slots", 0, 0),
            plugin_path=tuple(path for each in properties.get("plugin.path", "").split(",") if (path := each.strip())),
            advertised_host=advertised_host or properties.get("rest.advertised.host.name", ""),
        )
        if is_shipping(properties) and not settings.local:
            return replace(settings, files=_packed(settings.plugin_path, properties.get(KAFKA)))
        return settings

    @property
    def local(self) -> bool:
        """Whether the processes of tasks are on this machine."""
        return self.spark.get("spark.master", "local").startswith("local")

    @property
    def brings_kafka_source(self) -> bool:
        """Whether the user's own jars have Spark's Kafka source."""
        given = {**self.spark, **self.query_spark}
        return any(KAFKA_SOURCE in given.get(key, "") for key in ("spark.jars", "spark.jars.packages"))

    def query_jars(self) -> list[str]:
        """The jars of Spark's Kafka source that queries need, fetched if missing. Raises EmbeddedError."""
        from penstock.embedded import jars
        from penstock.spark.versions import release

        return [] if self.brings_kafka_source else [str(path) for path in jars(release().kafka)]

    def conf(self) -> dict[str, str]:
        """Return the configuration of the application of hosted tasks.

        Raises ConfigError where ``spark`` contradicts what hosted tasks require.
        """
        _check(self.spark, _REQUIRED)
        remote.refuse(self.spark)
        conf = self._completed(
            _CHOSEN | _OF_HOSTED | {key: value for key, (value, _) in _REQUIRED.items()} | dict(self.spark)
        )
        if (total := slots(conf)) <= self.query_slots:
            raise ConfigError(
                f"penstock.query.slots={self.query_slots} leaves nothing for hosted tasks: "
                f"Spark has {total} slots (spark.master={conf['spark.master']})."
            )
        if self.query_slots:
            conf |= limit(conf, total - self.query_slots)
        self._add_files(conf)
        return conf

    def hosted_slots(self, conf: Mapping[str, str]) -> int:
        """Return how many hosted tasks run at a time with this configuration."""
        return slots(conf) - (self.query_slots if self.local else 0)

    def query_conf(self) -> dict[str, str]:
        """Return the configuration of the application of queries, without what hosted tasks alone require."""
        required = {key: _REQUIRED[key] for key in _REQUIRED_BY_QUERIES}
        _check(self.query_spark, required, QUERIES)
        remote.refuse(self.spark)
        remote.refuse(self.query_spark, QUERIES)
        name = f"{self.spark.get('spark.app.name', _CHOSEN['spark.app.name'])}-queries"
        common = {key: value for key, value in self.spark.items() if key not in _REQUIRED}
        conf = _CHOSEN | _OF_QUERIES | {key: value for key, (value, _) in required.items()} | common
        conf = self._completed(conf | {"spark.app.name": name} | dict(self.query_spark))
        if self.query_slots:
            conf |= limit(conf, self.query_slots) | dict(self.query_spark)
        for key in ("spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions"):
            if _NO_DTD not in conf[key]:
                conf[key] = f"{conf[key]} {_NO_DTD}"
            if _ZONE not in conf[key]:
                conf[key] = f"{conf[key]} {_ZONE}UTC"
        self._add_files(conf)
        slots(conf)
        conf["spark.master"] = with_retries(conf["spark.master"], conf.get("spark.task.maxFailures", _FAILURES))
        return conf

    def _add_files(self, conf: dict[str, str]) -> None:
        if self.files:
            conf["spark.files"] = ",".join(filter(None, (conf.get("spark.files"), *map(str, self.files))))

    def _completed(self, conf: dict[str, str]) -> dict[str, str]:
        """Add the settings that depend on the master and on this worker."""
        conf.setdefault("spark.master", f"local[{SLOTS}]")
        conf.setdefault("spark.pyspark.python", sys.executable)
        local = conf["spark.master"].startswith("local")
        if local:
            conf.setdefault("spark.driver.host", "127.0.0.1")
            conf.setdefault("spark.driver.bindAddress", "127.0.0.1")
        if conf["spark.master"].startswith(("local[", "yarn", "k8s")) or conf["spark.master"] == "local":
            if conf.get("spark.authenticate", "true").strip().lower() == "true":
                conf = _PROTECTED | conf
        elif "spark.authenticate.secret" in conf:
            conf = _PROTECTED | conf
        conf.setdefault(f"spark.executorEnv.{DRIVERS_PYTHON}", "{}.{}".format(*sys.version_info))
        conf.setdefault(f"spark.executorEnv.{PLUGIN_PATH}", ",".join(self.plugin_path))
        if allowed := os.environ.get(ENVIRONMENT):  # for JVMs that tasks start on other machines
            conf.setdefault(f"spark.executorEnv.{ENVIRONMENT}", allowed)
        # A local cluster's executors don't inherit what this process found Penstock by.
        if (path := os.environ.get("PYTHONPATH")) and local:
            conf.setdefault("spark.executorEnv.PYTHONPATH", path)
        return conf


def longest_lease(properties: Mapping[str, str]) -> int:
    """Return the longest safe lease in milliseconds.

    A worker that hangs may have sent its last heartbeat a whole interval before.
    """
    if "group.id" not in properties:
        return LEASE
    session = _number(properties, "session.timeout.ms", 10_000, 0)
    heartbeat = _number(properties, "heartbeat.interval.ms", 3_000, 0)
    return max(min(LEASE, session - heartbeat), 1_000)


def environment(conf: Mapping[str, str]) -> dict[str, str]:
    """The environment of Spark's driver, and through it of its Java and, on this machine, of the tasks."""
    from penstock.spark.java import spark_java

    ours = {
        "JAVA_HOME": str(spark_java().home),
        "PYSPARK_PYTHON": conf["spark.pyspark.python"],
        # Threads of librdkafka and Java would each get an arena of their own.
        "MALLOC_ARENA_MAX": "2",
    }
    if conf["spark.master"].startswith("local"):
        ours["SPARK_LOCAL_IP"] = "127.0.0.1"
    return {**child_environment(), **ours}


def start(conf: Mapping[str, str], queries: bool = False) -> SparkContext:
    """Start Spark in this process, for hosted tasks or for queries.

    Called once, by the driver's main thread, with which its Java ends. Raises ConfigError for Spark Connect.
    """
    remote.refuse_elsewhere()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    import pyspark.sql.types
    from py4j import protocol
    from pyspark import SparkConf, SparkContext, java_gateway

    # These two ask pyspark.testing whether there is NumPy, which imports pandas and PyArrow: 80 MB, for values that
    # are never passed here.
    numpy = (pyspark.sql.types.NumpyArrayConverter, pyspark.sql.types.NumpyScalarConverter)
    protocol.INPUT_CONVERTER[:] = [one for one in protocol.INPUT_CONVERTER if not isinstance(one, numpy)]
    vars(java_gateway)["Popen"] = popen
    with command_line(conf) as public:
        SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(public.items())))
    return SparkContext(conf=with_defaults(conf, queries))


def with_defaults(conf: Mapping[str, str], queries: bool) -> SparkConf:
    """Return the settings of an application with those of ``spark-defaults.conf`` and of its cluster manager that they
    don't have. Called when Spark's Java runs.
    """
    from pyspark import SparkConf

    given = SparkConf().setAll(list(conf.items()))
    if queries and not given.contains("spark.delta.logStore.class"):  # Delta refuses both
        given.setIfMissing(LOG_STORE, OWN_LOG_STORE)
    return given.setAll(list(cluster.defaults(dict(given.getAll()), queries).items()))


def _check(given: Mapping[str, str], required: Mapping[str, tuple[str, str]], prefix: str = "") -> None:
    """Raises ConfigError for a setting with another value than the required one."""
    for key, (value, why) in required.items():
        if (found := given.get(key, value)).strip().lower() != value.lower():
            raise ConfigError(
                f"{prefix}{key}={found} can't be used, because {why}: leave it out, or set it to {value}."
            )


def _packed(plugin_path: tuple[str, ...], kafka: str | None) -> tuple[Path, ...]:
    try:
        return tuple(pack(plugin_path, kafka))
    except EmbeddedError as error:
        raise ConfigError(str(error)) from error


def _number(properties: Mapping[str, str], key: str, default: int, least: int) -> int:
    given = properties.get(key, str(default)).strip()
    if not re.fullmatch(r"\d+", given) or int(given) < least:
        raise ConfigError(key, given, f"must be a whole number, {least} or more")
    return int(given)


def slots(conf: Mapping[str, str]) -> int:
    """Return how many tasks this Spark runs at a time. Raises ConfigError where its configuration leaves that open."""
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
    """Return settings that limit an application to so many slots of its cluster, in whole executors.

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
