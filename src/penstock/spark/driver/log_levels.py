"""Levels of loggers in Spark's Java, for what Penstock reports itself: in the task's status and trace."""

from __future__ import annotations

from typing import Any

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
