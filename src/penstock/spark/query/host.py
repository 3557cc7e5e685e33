"""Query tasks in Spark's driver, each in a thread: to the worker they are tasks like those in processes of their own.

They are admitted over the same channel and say and obey the same. What differs is their end: the driver is not theirs
to end, so a query that has lost its worker is ended alone, and the end of its thread is its end.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

from penstock.api.source import SourceTask
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import trace
from penstock.spark.channel import Message, RefusedError, TaskChannel
from penstock.spark.query.source.pausing import BetweenBatches
from penstock.spark.task import ChannelHost, LogRelay, Steering, named, plugins

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

KAFKA_SOURCE = "spark-sql-kafka"
_QUIET = {
    # What they tell at length, the task's status tells, or it is no matter.
    "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter": "ERROR",
    "org.apache.spark.scheduler.DAGScheduler": "ERROR",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter": "OFF",
    "org.apache.spark.sql.execution.datasources.v2": "OFF",
    "org.apache.spark.sql.execution.streaming": "OFF",
    "org.apache.spark.util.Utils": "OFF",
    "org.apache.hadoop.util.Shell": "ERROR",
    # Metrics of jars that came later have no class there.
    "org.apache.spark.sql.execution.ui.SQLAppStatusListener": "ERROR",
}
_TELL_TWICE = ("py4j.clientserver", "SQLQueryContextLogger")
"""Loggers of Python that are given every exception before it is raised."""
_CHOSEN = {
    "spark.sql.adaptive.enabled": "false",  # streams can't
    "spark.sql.session.timeZone": "UTC",
    # How often an idle query asks for new records; Spark's 10 ms keep a third of a core busy.
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.streaming.metricsEnabled": "false",
}


class Queries:
    """Called by the driver; one object for its life."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._steers: dict[str, Steering] = {}
        self._own = threading.local()
        # What a query has to say is told by its worker.
        logging.getLogger("penstock").setLevel(logging.INFO)
        for name in _TELL_TWICE:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        for handler in logging.getLogger().handlers:
            handler.setLevel(logging.WARNING)

    def run(self, group: str, payload: Message) -> str | None:
        """The whole life of a query task; the answer is the first line of its failure."""
        who = {**payload["who"], "attempt": 0, "host": socket.gethostname(), "pid": os.getpid()}
        try:
            channel, admitted = TaskChannel.connect(tuple(payload["address"]), payload["key"], who)
        except RefusedError as refusal:
            log.warning("%s was not admitted: %s", who, refusal)
            return None
        control = BetweenBatches(pausing=admitted["spec"]["paused"])
        steer = self._steers[group] = Steering(control)
        relay = LogRelay(channel)
        relay.addFilter(lambda _: getattr(self._own, "group", None) == group)
        self._own.group = group
        logging.getLogger().addHandler(relay)
        # The thread ends instead of the process, which is not only this task's.
        attending = (steer.obey, steer.leave, sys.exit, admitted["lease"])
        threading.Thread(target=channel.attend, args=attending, name=f"channel-{group}", daemon=True).start()
        try:
            return self._run(group, admitted["spec"], channel, control)
        finally:
            channel.send({"say": "done"})
            logging.getLogger().removeHandler(relay)
            del self._steers[group]
            channel.close()

    def cancel(self, group: str) -> bool:
        """End a query by force; False if there is none of this name."""
        steer = self._steers.get(group)
        if steer is not None:
            steer.leave()
        return steer is not None

    def _run(self, group: str, document: dict[str, Any], channel: TaskChannel, control: BetweenBatches) -> str | None:
        from penstock.spark.query.sink.task import run_sink_query
        from penstock.spark.query.sink.writer import PipelineError
        from penstock.spark.query.source.task import run_source_query

        spec = TaskSpec.from_json(document)
        try:
            session = self._new_session()
            resolve = plugins(spec.plugin_path).resolve
            run = run_source_query if issubclass(named(spec.task_class), SourceTask) else run_sink_query
            run(spec, session, control, ChannelHost(channel), resolve, lambda: self._enter(group))
        except BaseException as error:
            if not control.aborted:
                text = error.text if isinstance(error, PipelineError) else trace(error)
                channel.send({"say": "failed", "trace": text})
                return text.splitlines()[0]
        return None

    def _enter(self, group: str) -> None:
        self._own.group = group

    def _new_session(self) -> SparkSession:
        """A session of the task's own. Its views and settings are nobody else's."""
        with self._lock:
            if self._session is None:
                self._session = self._begin()
            session = self._session.newSession()
        for name, value in _CHOSEN.items():
            if self._context.getConf().get(name) is None:
                session.conf.set(name, value)
        if self._context.getConf().get("spark.sql.shuffle.partitions") is None:
            session.conf.set("spark.sql.shuffle.partitions", str(self._context.defaultParallelism))
        # Java's thread of this one finds classes, and so data sources, as Spark's own sessions do.
        jvm: Any = session._jvm
        jvm.java.lang.Thread.currentThread().setContextClassLoader(
            session._jsparkSession.sharedState().jarClassLoader()
        )
        return session

    def _begin(self) -> SparkSession:
        from pyspark.sql import SparkSession

        from penstock.embedded import jars

        log4j: Any = self._context._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
        for name, level in _QUIET.items():
            log4j.core.config.Configurator.setLevel(name, log4j.Level.valueOf(level))
        session = SparkSession(self._context)
        given = self._context.getConf()
        if not any(KAFKA_SOURCE in (given.get(key) or "") for key in ("spark.jars", "spark.jars.packages")):
            for jar in jars("spark-kafka"):
                session.sql(f"ADD JAR '{jar}'")
        return session
