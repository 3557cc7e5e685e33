"""Query tasks in Spark's driver, each in a thread; the worker sees tasks like those in processes of their own.

They are admitted over the same channel and exchange the same messages. What differs is their end: a query that has
lost its worker must not end the driver's process, so only its thread ends.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.api.errors import ConfigError
from penstock.api.source import SourceTask
from penstock.connectors.spark.sink_settings import format_of_spark
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.pipeline.task import TaskFencedError, TaskSpec
from penstock.pipeline.trace import causes, headline, stack, trace
from penstock.spark.channel import RefusedError, TaskChannel
from penstock.spark.messages.driver import JudgeSql, SampleSource, SourceSampled, SqlJudged
from penstock.spark.messages.task import FailedReport, LostReport, TaskSubmission
from penstock.spark.query.progress_report import KEPT
from penstock.spark.query.shared import prepare
from penstock.spark.query.source.pausing import BetweenBatches
from penstock.spark.run.task_link import ChannelHost, LastReport, LogRelay, Steering, report_end, watch_stalls
from penstock.spark.run.task_threads import OfTask, inherit_task
from penstock.spark.task import named, plugins, resolver
from penstock.spark.versions import cancel_jobs, check_format, check_jars, error_loggers, make_active

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_CHOSEN = {
    "spark.sql.adaptive.enabled": "false",  # streams can't
    # How often an idle query asks for new records; Spark's 10 ms keep a third of a core busy.
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.streaming.numRecentProgressUpdates": str(KEPT),
    "spark.sql.streaming.metricsEnabled": "false",
}


_STOPPED = re.compile(r"SparkContext (was shut ?down|has been shut ?down)|stopped SparkContext")
"""Messages of a stopped application; its mere name is in Java's stack of every failed job."""
INTERRUPT_SECONDS = 0.5
SLOW_SECONDS = 10.0
"""Seconds after which the log says where a cancelled query is that has not ended."""
SAMPLES = 2
"""Maximum of previews at a time."""


class _JavaEndedError(Exception):
    """A query has lost its connection to Spark's Java; the message says how that ended."""


class Queries:
    """The query tasks and previews of a driver, which has one such object."""

    def __init__(self, context: SparkContext, java_ended: Callable[[], str | None]) -> None:
        """``java_ended`` says how Spark's Java has ended; None if it has not."""
        self._context, self._java_ended = context, java_ended
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._jars = set[str]()
        """Jars that the session has."""
        self._steers: dict[str, Steering] = {}
        self._threads: dict[str, Any] = {}
        """Java's threads, in which the calls of a query's thread run."""
        self._sampling = threading.BoundedSemaphore(SAMPLES)
        # The log lines of a query are in its worker's log, also those of threads that it starts.
        inherit_task()
        logging.getLogger("penstock").setLevel(logging.INFO)
        for logger in (logging.getLogger("py4j.clientserver"), *error_loggers()):
            logger.setLevel(logging.CRITICAL)
        for handler in logging.getLogger().handlers:
            handler.setLevel(logging.WARNING)

    def check(self, conf: Mapping[str, str]) -> tuple[str, ...]:
        """Check that queries can run in this application; return what some of its executors lack. Raises UnfitError,
        and Spark's errors.
        """
        from penstock.spark.driver.check import check_queries

        with self._lock:
            return check_queries(self._shared_session(), conf)

    def run(self, group: str, submission: TaskSubmission) -> str | None:
        """Run a query task from its admission to its end; return the first line of its failure, or why it was not
        admitted.
        """
        who = msgspec.structs.replace(submission.identity, host=socket.gethostname(), pid=os.getpid())
        try:
            channel, admitted = TaskChannel.connect(submission.address, submission.fingerprint, submission.key, who)
        except RefusedError as refusal:
            log.warning("%s was not admitted: %s", who, refusal)
            return None
        except OSError as error:  # the worker, which waits for this query, hears of it by the end of the job
            return f"It was not admitted: {type(error).__name__}: {error}"
        control = BetweenBatches(pausing=admitted.spec.paused)
        control.leased = lambda: channel.holds(admitted.lease)
        steer = self._steers[group] = Steering(control)
        relay = LogRelay(channel)
        steer.lines_written = relay.written
        relay.addFilter(of_query := OfTask())
        logging.getLogger().addHandler(relay)
        # Lost contact ends the thread, not the process, which other queries share.
        attending = (steer.obey, lambda: self.cancel(group), sys.exit, admitted.lease)
        threading.Thread(target=channel.attend, args=attending, name=f"channel-{group}", daemon=True).start()
        try:
            last = self._run(group, admitted.spec, submission.jars, channel, control, of_query)
            return report_end(channel, relay, last)
        except _JavaEndedError as error:  # the worker hears of it when the driver ends, which it does now
            relay.drain()
            return str(error)
        finally:
            logging.getLogger().removeHandler(relay)
            relay.close()
            del self._steers[group]
            self._threads.pop(group, None)
            channel.close()

    def cancel(self, group: str) -> bool:
        """End a query by force; False if there is none of this name.

        Planning a batch may wait for brokers, in no job, and once more when Spark closes its clients: so Java's thread
        is interrupted as well, until the query has ended.
        """
        steer = self._steers.get(group)
        if steer is not None:
            steer.leave()
            threading.Thread(target=self._interrupt, args=(group,), name=f"cancel-{group}", daemon=True).start()
        return steer is not None

    def _interrupt(self, group: str) -> None:
        try:
            java: Any = self._context._jsc.sc()
            cancel_jobs(java, group)
            slow: float | None = time.monotonic() + SLOW_SECONDS
            while (thread := self._threads.get(group)) is not None:
                thread.interrupt()
                time.sleep(INTERRUPT_SECONDS)
                cancel_jobs(java, group)  # also those that have started since, on 3.5
                if slow is not None and time.monotonic() > slow:
                    slow = None
                    log.warning("%s has not ended %g s after it was cancelled. It is at\n%s",
                                group, SLOW_SECONDS, self._places(group))  # fmt: skip
        except Exception as error:  # Spark's Java has ended, and the query with it
            log.debug("The jobs of %s can't be cancelled: %r", group, error)

    def _places(self, group: str) -> str:
        """Return where the threads of a query are, innermost frames first; one that waits for Java is in py4j."""
        names = (group, f"stop-{group.rpartition('/')[0]}")
        found = [(each.name, each.ident) for each in threading.enumerate() if each.name in names]
        return "".join(f"thread {name}\n{stack(ident)}" for name, ident in found if ident is not None).rstrip()

    def sample(self, request: SampleSource) -> SourceSampled:
        """Read a few records of a source."""
        from penstock.spark.query.sample import packed, sample

        if not self._sampling.acquire(blocking=False):
            busy = f"{SAMPLES} previews of queries have not ended yet; try again later"
            return SourceSampled(request.group, error=busy)
        try:
            session = self._new_session(request.jars)
            check_format(session, request.spec.connector_config.get("format") or "")
            batch = sample(request.spec, session, request.limit, request.seconds)
            records = None if batch is None else base64.b64encode(packed(batch)).decode()
            return SourceSampled(request.group, records)
        except BaseException as error:
            reason = str(error) if isinstance(error, ConfigError) else headline(error)
            return SourceSampled(request.group, error=reason)
        finally:
            self._sampling.release()

    def judge(self, request: JudgeSql) -> SqlJudged:
        """Judge the plan that Spark parses of a connector's ``sql``."""
        from pyspark.errors import PySparkException

        from penstock.spark.query.sql.select import SqlSelect

        try:
            SqlSelect(self._new_session(request.jars), request.sql, request.functions, request.options)
        except ConfigError as error:
            return SqlJudged(request.group, str(error))
        except PySparkException as error:
            return SqlJudged(request.group, str(error).strip().partition("\n")[0])
        except Exception as error:  # the task will say it, if it is not for the moment
            log.debug("The sql of a configuration can't be judged now: %r", error)
        return SqlJudged(request.group)

    def _run(
        self,
        group: str,
        spec: TaskSpec,
        jars: Iterable[str],
        channel: TaskChannel,
        control: BetweenBatches,
        of_query: OfTask,
    ) -> LastReport:
        from penstock.spark.query.jdbc.source.task import run_jdbc_source
        from penstock.spark.query.sink.task import run_sink_query
        from penstock.spark.query.sink.writer import PipelineError
        from penstock.spark.query.source.task import run_source_query

        ended = watch_stalls(spec, control, channel)
        try:
            # Jobs of this thread can be cancelled by this name; a streaming query has a group of its own.
            self._context.setJobGroup(group, f"Connector {spec.connector}, task {spec.task}", interruptOnCancel=True)
            session = self._new_session(jars)
            jvm: Any = session._jvm
            self._threads[group] = jvm.java.lang.Thread.currentThread()
            check_format(session, format_of_spark(spec.connector_config))
            resolve = resolver(spec, plugins(spec.plugin_path))
            task = named(spec.task_class)
            sources = {"stream": run_source_query, "jdbc": run_jdbc_source}
            run = sources[task.reads] if issubclass(task, SourceTask) else run_sink_query
            to_worker = ChannelHost(channel, self._steers[group])
            if control.stopping or control.aborted:  # a cancellation before now has interrupted nothing
                return None
            with task_jvm(spec):
                run(spec, session, control, to_worker, resolve, of_query.enter)
        except TaskFencedError as error:
            return None if control.aborted else LostReport(str(error))
        except HostLost as lost:
            return None if control.aborted else LostReport(str(lost), lost.by_itself)
        except BaseException as error:
            if control.aborted:
                return None
            if _may_be_lost(error) and (reason := self._java_ended()) is not None:
                raise _JavaEndedError(reason) from None
            return FailedReport(error.text if isinstance(error, PipelineError) else trace(error))
        finally:
            ended.set()
        return None

    def _new_session(self, jars: Iterable[str]) -> SparkSession:
        """Make a session for a task, with views and settings of its own."""
        given = self._context._conf
        check_jars(",".join(given.get(key) or "" for key in ("spark.jars", "spark.jars.packages")).split(","))
        with self._lock:
            shared = self._shared_session()
            for jar in set(jars) - self._jars:
                shared.sql(f"ADD JAR '{jar}'")
                self._jars.add(jar)
            session = shared.newSession()
        # Otherwise Spark replaces ${env:NAME} and ${system:NAME} in SQL and names of connectors.
        session.conf.set("spark.sql.variable.substitute", "false")
        # A copy of `given`, by `getConf`, would take hundreds of calls of Java: seconds when many queries start.
        for name, value in _CHOSEN.items():
            if not given.contains(name):
                session.conf.set(name, value)
        if not given.contains("spark.sql.shuffle.partitions"):
            session.conf.set("spark.sql.shuffle.partitions", str(self._context.defaultParallelism))
        # Java's thread of this one finds classes, and so data sources, as Spark's own sessions do.
        jvm: Any = session._jvm
        jvm.java.lang.Thread.currentThread().setContextClassLoader(
            session._jsparkSession.sharedState().jarClassLoader()
        )
        make_active(session)
        return session

    def _shared_session(self) -> SparkSession:
        """Return the session whose jars all sessions have. Called with the lock held."""
        from pyspark.sql import SparkSession

        if self._session is None:
            prepare(self._context)
            self._session = SparkSession(self._context)
        return self._session


def says_stopped(error: BaseException) -> bool:
    """Return whether Spark reports that it accepts no jobs any more."""
    return bool(_STOPPED.search(str(error)))


def _may_be_lost(error: BaseException) -> bool:
    """Return whether an error may come from the end of Spark's Java.

    Py4J raises a plain error if the connection broke while it waited for an answer.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    return any(
        isinstance(each, OSError | EOFError)
        or (isinstance(each, Py4JError) and not isinstance(each, Py4JJavaError))
        or says_stopped(each)
        for each in causes(error)
    )
