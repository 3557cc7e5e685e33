"""Calls of the driver into Spark's Java: levels of loggers, Java's figures, and totals of hosted tasks in Spark's UI.

Levels are reduced for what Penstock reports itself: in the task's status and trace.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock.spark.messages.driver import CollectorFigures, JavaFigures

log = logging.getLogger(__name__)

SPARKS_DEFAULTS = "/org/apache/spark/log4j2-"
"""In the location of the configurations that are in Spark's jars."""
_STREAMING = "org.apache.spark.sql.execution.streaming"
_LEVELS = {
    # One trace each for every hosted task that fails.
    "org.apache.spark.executor.Executor": "OFF",
    "org.apache.spark.scheduler.TaskSetManager": "OFF",
    # The same for every query and every batch that can't be written.
    "org.apache.spark.scheduler.DAGScheduler": "ERROR",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter": "OFF",
    "org.apache.spark.sql.execution.datasources.v2": "OFF",
    _STREAMING: "OFF",
    "org.apache.spark.util.Utils": "OFF",
    # Warnings that nobody can act on: of clean-ups, of a missing winutils, of metrics in jars that were added later.
    "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter": "ERROR",
    "org.apache.hadoop.util.Shell": "ERROR",
    "org.apache.spark.sql.execution.ui.SQLAppStatusListener": "ERROR",
}


def reduce_log_levels(context: Any) -> None:
    """Call once, when Spark has started. A log4j configuration of the user and ``spark.log.level`` stay in force, but
    for the lines with which Spark's streams tell the options of their sources, secrets among them.
    """
    log4j = context._jvm.org.apache.logging.log4j
    levels, set_level = log4j.Level, log4j.core.config.Configurator.setLevel
    configured = log4j.LogManager.getContext(False).getConfiguration()
    source = configured.getConfigurationSource()
    if SPARKS_DEFAULTS in str(source.getLocation()) and context.getConf().get("spark.log.level") is None:
        for name, level in _LEVELS.items():
            set_level(name, levels.valueOf(level))
        return
    for name in {_STREAMING, *(each for each in configured.getLoggers() if each.startswith(_STREAMING))}:
        if configured.getLoggerConfig(name).getLevel().isLessSpecificThan(levels.WARN):
            set_level(name, levels.WARN)


def java_figures(jvm: Any) -> JavaFigures:
    """Read Java's figures by Py4J. Raises Py4J's errors if Java has ended."""
    beans = jvm.java.lang.management.ManagementFactory
    memory = beans.getMemoryMXBean()
    return JavaFigures(
        memory={
            "heap": memory.getHeapMemoryUsage().getUsed(),
            "nonheap": memory.getNonHeapMemoryUsage().getUsed(),
        },
        threads=beans.getThreadMXBean().getThreadCount(),
        collections={
            each.getName(): CollectorFigures(each.getCollectionCount(), each.getCollectionTime() / 1000)
            for each in beans.getGarbageCollectorMXBeans()
        },
    )


class StageCounts:
    """Totals of hosted tasks as named accumulators of their stages. Called by one thread, for jobs of one stage.

    An accumulator tells its value when a Spark task ends, and ours end after weeks. So the driver writes into the stage
    what each task reports to its worker; the pages of Spark's UI, and its REST API, show it with the next heartbeat
    (10 s).
    """

    def __init__(self, context: Any) -> None:
        self._spark = context._jsc.sc()
        self._jvm = context._jvm
        self._ids: dict[str, int] = {}
        """Ids of accumulators by name; every stage keeps values of its own."""

    def show(self, group: str, values: Mapping[str, float]) -> None:
        """Show these totals with the running job of this group; without one they are dropped."""
        try:
            stage = self._stage(group)
            for name, value in values.items() if stage is not None else ():
                self._put(stage, name, int(value))
        except Exception:
            # It uses Spark's internals, and must never end a driver.
            log.debug("Counts of %s can't be shown", group, exc_info=True)

    def _stage(self, group: str) -> Any:
        tracker = self._spark.statusTracker()
        for job in tracker.getJobIdsForGroup(group):
            for stage in tracker.getJobInfo(job).get().stageIds():
                found = self._spark.dagScheduler().stageIdToStage().get(stage)
                if found.isDefined():
                    return found.get().latestInfo()
        return None

    def _put(self, stage: Any, name: str, value: int) -> None:
        if name not in self._ids:
            self._ids[name] = self._jvm.org.apache.spark.util.AccumulatorContext.newId()
        id, some = self._ids[name], self._jvm.scala.Some
        none = getattr(getattr(self._jvm.scala, "None$"), "MODULE$")
        info = self._jvm.org.apache.spark.scheduler.AccumulableInfo
        stage.accumulables().put(id, info(id, some(name), none, some(value), False, False, none))
