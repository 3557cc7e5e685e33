"""Spark's driver: a child of the worker, connected by a socket; ``__main__`` starts it.

Every hosted task is a Spark job of one partition in a job group of its own, so that it can be seen and cancelled by
name. When the socket closes, the worker is gone, and this process, its Java and all tasks go too. The worker's pings
are answered by way of Java, so that the worker notices if either of the two is frozen or hangs.
"""

from __future__ import annotations

import functools
import logging
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from penstock.core.config.secrets import without_secrets
from penstock.scratch import Scratch
from penstock.spark import task
from penstock.spark.channel import LIMIT
from penstock.spark.driver.check import check_executors, explained, is_local, refusal_of_master
from penstock.spark.driver.class_data import make_when_quiet, with_archive
from penstock.spark.driver.spark_java import StageCounts, java_figures, reduce_log_levels
from penstock.spark.messages.driver import (
    COMMANDS,
    EVENTS,
    CancelJob,
    DriverEnding,
    DriverEvent,
    DriverPong,
    DriverWork,
    JavaStarted,
    JobEnded,
    JudgeSql,
    PingDriver,
    SampleSource,
    ShowTotals,
    SparkStarted,
    StartSpark,
    StopSpark,
    SubmitQuery,
    SubmitTask,
)
from penstock.spark.parent import signal_from_parent
from penstock.spark.query.host import Queries, says_stopped
from penstock.spark.settings import start
from penstock.spark.versions import release
from penstock.wire.framing import FrameDecoder, frame
from penstock.wire.messages import MessageError

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

WARMING = 12
"""Jobs after which Java is at full speed; its first ones take two or three times as long."""


LEAVING_S = 2.0
"""Seconds that tasks may take to end when the worker is gone, which they see for themselves: the consumers of sinks
leave their groups, which would otherwise wait for the ends of their sessions.
"""
PINGS_OF_FIGURES = 5
"""Every so many pings, the answer has figures of Java."""

_LOCAL_DIRS = "SPARK_LOCAL_DIRS"
_JAVA = "spark.driver.defaultJavaOptions"
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Driver:
    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._sending = threading.Lock()
        self._commands: queue.Queue[DriverWork] = queue.Queue()
        self._pings: queue.SimpleQueue[PingDriver] = queue.SimpleQueue()
        self._jvm: Any = None
        """Java, once Spark has started there."""
        self._files: DriverFiles | None = None
        self._ending = threading.Lock()
        self._jobs, self._jobs_over = set[str](), threading.Condition()
        """Groups of the hosted tasks that run."""
        self._wanted = threading.Event()
        """Set by the first command after the start: Java need not be warmed up any more."""
        threading.Thread(target=self._listen, name="worker", daemon=True).start()
        threading.Thread(target=self._answer_pings, name="pings", daemon=True).start()
        # From now on the end of the worker is seen here, unless this process is frozen: then it continues.
        signal_from_parent(signal.SIGCONT)

    def run(self) -> None:
        """Start Spark, then execute the worker's commands; never returns."""
        first = self._commands.get()
        assert isinstance(first, StartSpark)
        files = self._files = DriverFiles(first.conf)
        try:
            self._begin(files.begin(first.conf), first.warm_up)
        except BaseException as error:
            log.exception("Spark did not start")
            reason = self._refusal(first.conf) or _sentence(error)
            self.end(f"Spark did not start: {reason.rstrip('.')}.{_advice(error, files.roots)}")
        while True:
            command = self._commands.get()
            self._wanted.set()
            match command:
                case SubmitTask():
                    threading.Thread(target=self._job, args=(command,), name=command.group, daemon=True).start()
                case SubmitQuery():
                    threading.Thread(target=self._query, args=(command,), name=command.group, daemon=True).start()
                case SampleSource():
                    threading.Thread(target=self._sample, args=(command,), name=command.group, daemon=True).start()
                case JudgeSql():
                    threading.Thread(target=self._judge, args=(command,), name=command.group, daemon=True).start()
                case CancelJob():
                    if not self.queries.cancel(command.group):
                        self.sc.cancelJobGroup(command.group)
                case ShowTotals():
                    if self.counts is not None:
                        self.counts.show(command.group, command.values)
                case StartSpark():
                    self.end("Spark was to be started a second time.")
                case StopSpark():
                    if not str(self.sc.master).startswith("local["):
                        # Unregisters from the cluster, which would replace executors of a driver that just disappears.
                        self.sc.stop()
                    self.end("Spark was stopped.")
                case _:
                    assert_never(command)

    def end(self, reason: str) -> None:
        """End Java, then this process. Called from any thread, in any state of the others."""
        self._ending.acquire()  # a second caller waits for the end
        with suppress(OSError):
            self._send(DriverEnding(reason))
        java = self._java()
        if java is not None:
            # Java's connections to this process break now; their errors are not worth logging.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            java.terminate()
            try:
                java.wait(3.0)
            except subprocess.TimeoutExpired:
                java.kill()
        if self._files is not None:
            self._files.end()
        os._exit(0)

    def _begin(self, conf: dict[str, str], warm_up: bool) -> None:
        release()  # raises where Penstock does not run on this Spark
        # The worker gets Java's pid first, so that it can kill it whatever happens afterwards.
        self.sc: SparkContext = start(with_archive(conf), queries=not warm_up)
        self._java_context: Any = self.sc._jsc.sc()
        self._jvm = self.sc._jvm
        java = self._java()
        assert java is not None
        self._send(JavaStarted(java.pid))
        threading.Thread(target=self._watch, args=(java,), name="java", daemon=True).start()
        reduce_log_levels(self.sc)
        self.counts = StageCounts(self.sc) if conf["spark.ui.enabled"] == "true" else None
        self.queries = Queries(self.sc, self._end_of_java)
        self.one = self.sc.parallelize([0], 1)
        self._conf = conf
        unfit: tuple[str, ...] = ()
        if not warm_up:
            unfit = self.queries.check(conf)
        elif is_local(conf):
            threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()
        else:
            unfit = check_executors(self.sc, conf)
        self._send(SparkStarted(unfit))
        if warm_up:
            threading.Thread(target=make_when_quiet, args=(conf,), name="class data", daemon=True).start()

    def _refusal(self, conf: Mapping[str, str]) -> str | None:
        """Return why a cluster has not accepted this application, if it says that."""
        if self._jvm is None:
            return None
        try:
            return refusal_of_master(self.sc, conf)
        except Exception:  # the reason why Spark did not start is known better
            log.exception("The master can't be asked")
            return None

    def _warm_up(self) -> None:
        """The process that tasks are forked from takes a second to start, and Java's first jobs are slow: begin now."""
        with suppress(Exception):  # tasks will fail with it
            self.sc.setJobGroup("penstock", "Penstock: warming up")
            for _ in range(WARMING):
                self.one.mapPartitions(task.probe).collect()
                if self._wanted.is_set():
                    return

    def _job(self, command: SubmitTask) -> None:
        """One hosted task, for as long as it runs."""
        error = None
        with self._jobs_over:
            self._jobs.add(command.group)
        try:
            # No interrupt: a thread that waits for a fork would take it for the death of the forking process, and Spark
            # would end that process with every task forked from it.
            self.sc.setJobGroup(command.group, command.description, interruptOnCancel=False)
            self.one.mapPartitions(functools.partial(task.host, command.task)).collect()
        except Exception as problem:
            of_java = getattr(problem, "java_exception", None) is not None
            if (not of_java or says_stopped(problem)) and self._java_is_gone():
                return
            error = explained(str(problem), self._conf) or _sentence(problem)
        finally:
            with self._jobs_over:
                self._jobs.discard(command.group)
                self._jobs_over.notify_all()
        with suppress(OSError):
            self._send(JobEnded(command.group, error))

    def _query(self, command: SubmitQuery) -> None:
        """One query task, for as long as it runs."""
        error = self.queries.run(command.group, command.task)
        if error is not None and self._java_is_gone():
            return
        with suppress(OSError):
            self._send(JobEnded(command.group, error))

    def _sample(self, command: SampleSource) -> None:
        """A few records of a query that is run for this alone."""
        answer = self.queries.sample(command)
        with suppress(OSError):
            self._send(answer)

    def _judge(self, command: JudgeSql) -> None:
        answer = self.queries.judge(command)
        with suppress(OSError):
            self._send(answer)

    def _listen(self) -> None:
        frames, reason = FrameDecoder(LIMIT), "The worker is gone."
        try:
            while data := self._socket.recv(1 << 16):
                for body in frames.feed(data):
                    command = COMMANDS.decode(body)
                    if isinstance(command, PingDriver):
                        self._pings.put(command)
                    else:
                        self._commands.put(command)
        except MessageError as error:
            reason = f"The worker has sent an invalid message: {error}."
        except OSError:
            pass
        with self._jobs_over:
            self._jobs_over.wait_for(lambda: not self._jobs, LEAVING_S)
        self.end(reason)

    def _answer_pings(self) -> None:
        while True:
            ping = self._pings.get()
            with suppress(Exception):  # Java is gone, and so is this process soon
                figures = None
                if self._jvm is not None:
                    if self._is_stopped() and (reason := self._end_of_java()) is not None:
                        self.end(reason)
                    if ping.number % PINGS_OF_FIGURES == 0:
                        figures = java_figures(self._jvm)
                self._send(DriverPong(ping.number, figures))

    def _watch(self, java: subprocess.Popen[bytes]) -> None:
        self.end(_ended(java, java.wait()))

    def _java_is_gone(self) -> bool:
        return self._end_of_java() is not None

    def _end_of_java(self) -> str | None:
        """Return how Java has ended, or None if it has not.

        Waits a little, since Java's connections break before its end is seen.
        """
        java = self._java()
        if java is None:
            return "Spark's Java is gone."
        try:
            return _ended(java, java.wait(2.0))
        except subprocess.TimeoutExpired:
            with suppress(Exception):  # it is ending; a later call returns how
                if self._is_stopped():
                    return f"Spark's Java (process {java.pid}) has stopped the application; its log says why."
            return None

    def _is_stopped(self) -> bool:
        """Return whether Spark takes no jobs any more: Java is ending, or a cluster has removed the application.

        Raises what Py4J raises if Java has ended.
        """
        return bool(self._java_context.isStopped())

    def _java(self) -> subprocess.Popen[bytes] | None:
        # Not by an import: if the worker ends while PySpark is still being imported, this would wait for it.
        context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
        return getattr(getattr(context, "_gateway", None), "proc", None)

    def _send(self, event: DriverEvent) -> None:
        with self._sending:
            self._socket.sendall(frame(EVENTS.encode(event)))


class DriverFiles:
    """Folders for the files of Spark, its Java and its driver, which are removed with the driver.

    Spark and Java remove theirs themselves, but not when they are killed: then 20 MB of jars, what did not fit into
    memory and the checkpoints of queries stay.
    """

    def __init__(self, conf: Mapping[str, str]) -> None:
        self.roots = os.environ.get(_LOCAL_DIRS) or conf.get("spark.local.dir") or tempfile.gettempdir()
        """The folders of Spark that the user has set: one, or several with commas."""
        self._folders: list[Scratch] = []

    def begin(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Make folders below those of the user, have them used by what this process starts, and by itself. The answer
        is the configuration for that. Raises OSError.
        """
        local = [self._folder(Path(root.strip()).absolute()) for root in self.roots.split(",")]
        # Native libraries are loaded from here: it stays on the disk of the other temporary files.
        own = self._folder(Path(tempfile.gettempdir()).absolute())
        os.environ[_LOCAL_DIRS] = ",".join(map(str, local))
        tempfile.tempdir = str(own)
        return {**conf, _JAVA: f'"-Djava.io.tmpdir={own}" {conf.get(_JAVA, "")}'.rstrip()}

    def end(self) -> None:
        for folder in self._folders:
            folder.close()

    def _folder(self, root: Path) -> Path:
        for known in self._folders:
            if known.path.parent == root:
                return known.path
        root.mkdir(parents=True, exist_ok=True)
        self._folders.append(Scratch("spark", root))
        return self._folders[-1].path


def _ended(java: subprocess.Popen[bytes], code: int) -> str:
    return f"Spark's Java (process {java.pid}) ended with exit code {code}."


def _advice(error: BaseException, folders: str) -> str:
    """Advice for a full disk, which Spark's message does not name."""
    if "No space left on device" not in str(error):
        return ""
    return f" Free space on the disk of {folders}, or set spark.local.dir to another folder."


def _sentence(error: BaseException) -> str:
    """Return Spark's message, without Java's trace and with the last line of Python's."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    if "Traceback (most recent call last)" in text:
        lines = [
            line
            for line in text.split("Driver stacktrace")[0].splitlines()
            if line and not line.startswith(("\t", " "))
        ]
        return next((line for line in reversed(lines) if not line.startswith("Traceback")), text)
    return text.splitlines()[0] if text else type(error).__name__


class _DriverLines(logging.Formatter):
    """Lines on the worker's standard error, of which none looks like one of its log."""

    def format(self, record: logging.LogRecord) -> str:
        text = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", without_secrets(super().format(record)))
        return text.replace("\n", "\n    ")


def main(descriptor: int) -> None:
    """``descriptor``: that of the socket."""
    handler = logging.StreamHandler()
    handler.setFormatter(_DriverLines("%(asctime)s %(levelname)s %(message)s (%(name)s)"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.stack_size(512 * 1024)
    Driver(socket.socket(fileno=descriptor)).run()
