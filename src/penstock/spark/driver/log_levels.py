"""Levels of loggers in Spark's Java, for what Penstock reports itself: in the task's status and trace."""

from __future__ import annotations

from typing import Any

SPARKS_DEFAULTS = "/org/apache/spark/log4j2-"
"""In the location of the configurations that are in Spark's jars."""
_LEVELS = {
    # One trace each for every hosted task that fails.
    "org.apache.spark.executor.Executor": "OFF",
    "org.apache.spark.scheduler.TaskSetManager": "OFF",
    # The same for every query and every batch that can't be written.
    "org.apache.spark.scheduler.DAGScheduler": "ERROR",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter": "OFF",
    "org.apache.spark.sql.execution.datasources.v2": "OFF",
    "org.apache.spark.sql.execution.streaming": "OFF",
    "org.apache.spark.util.Utils": "OFF",
    # Warnings that nobody can act on: of clean-ups, of a missing winutils, of metrics in jars that were added later.
    "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter": "ERROR",
    "org.apache.hadoop.util.Shell": "ERROR",
    "org.apache.spark.sql.execution.ui.SQLAppStatusListener": "ERROR",
}


def reduce_log_levels(context: Any) -> None:
    """Call once, when Spark has started. A log4j configuration of the user and ``spark.log.level`` stay in force."""
    log4j = context._jvm.org.apache.logging.log4j
    source = log4j.LogManager.getContext(False).getConfiguration().getConfigurationSource()
    if SPARKS_DEFAULTS not in str(source.getLocation()) or context.getConf().get("spark.log.level") is not None:
        return
    for name, level in _LEVELS.items():
        log4j.core.config.Configurator.setLevel(name, log4j.Level.valueOf(level))
