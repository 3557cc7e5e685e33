"""The process of a worker: from its properties file to its end by a signal."""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.processes import COMMAND
from penstock.core.model import messages as m
from penstock.embedded import EmbeddedError
from penstock.hosts.jvm.build import pass_on_class_path
from penstock.observe import start_logging
from penstock.settings import WorkerSettings, load_settings
from penstock.spark.java import spark_java
from penstock.worker.assembly import Worker
from penstock.worker.connector_file import read_connector

log = logging.getLogger(__name__)


class StartError(Exception):
    """The worker cannot start; the message is a sentence. The exit statuses are Java's."""

    def __init__(self, sentence: str, exit_status: int) -> None:
        super().__init__(sentence)
        self.exit_status = exit_status


class Signals:
    """Waits for signals that come from now on.

    A handler interrupts the main thread while it waits. To set a ``threading.Event`` there may wait for a lock that
    this same thread holds; ``SimpleQueue.put`` is safe at any moment.
    """

    def __init__(self, *numbers: int) -> None:
        self._come: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in numbers:
            signal.signal(number, lambda number, _: self._come.put(number))

    def wait(self, seconds: float) -> bool:
        """Wait for a signal; return whether one has arrived that nobody has waited for."""
        try:
            self._come.get(timeout=seconds)
        except queue.Empty:
            return False
        return True


CONNECT_DISTRIBUTED = "org.apache.kafka.connect.cli.ConnectDistributed"
CONNECT_STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"
SETTINGS, START = 2, 3
"""Exit statuses: invalid settings; the worker, or a connector that it was to start with, cannot be started."""


def run(properties: Path, standalone: bool = False, connectors: Sequence[Path] = ()) -> None:
    """Run until SIGTERM or SIGINT, or until the worker fails (exit status 1 and a sentence in the log).

    Raises StartError for settings and files that can't be followed.
    """
    start_logging()
    try:
        settings = _settings(properties, standalone)
        files = (str(each.absolute()) for each in (properties, *connectors))
        os.environ[COMMAND] = " ".join((CONNECT_STANDALONE if standalone else CONNECT_DISTRIBUTED, *files))
        pass_on_class_path()
        start_logging(format=settings.values["penstock.log.format"])
        creations = _read(connectors)
        signals = Signals(signal.SIGTERM, signal.SIGINT)
        # Without it Spark's driver would be started again and again. Plugins from jars have the same Java by default,
        # in the worker and in its tasks.
        os.environ["JAVA_HOME"] = str(spark_java().home)
        worker = Worker(settings)
    except ConfigError as error:
        raise StartError(str(error), SETTINGS) from error
    except (ConnectError, EmbeddedError) as error:  # no tickets of Kerberos can be had, or no Java for Spark
        raise StartError(str(error), START) from error
    try:
        worker.start()
    except ConnectError as error:  # the file of offsets can't be read
        worker.stop()
        raise StartError(str(error), START) from error
    try:
        ended = not all(_create(worker, each, signals) for each in creations)
    except StartError:
        worker.stop()
        raise
    while not (ended or signals.wait(0.2) or worker.failed.is_set()):
        pass
    if worker.failure is not None:
        log.error("The worker has failed and is stopping: %s", worker.failure)
    worker.stop()
    sys.exit(0 if worker.failure is None else 1)


def _settings(properties: Path, standalone: bool) -> WorkerSettings:
    try:
        return load_settings(properties, standalone)
    except OSError as error:
        raise ConfigError(f"The properties file {properties} cannot be read: {error.strerror}") from error


def _read(connectors: Sequence[Path]) -> list[m.CreateConnector]:
    try:
        return [read_connector(path) for path in connectors]
    except ConfigError as error:
        raise StartError(str(error), START) from error


def _create(worker: Worker, request: m.CreateConnector, signals: Signals) -> bool:
    """Create the connector. Return False if a signal arrives first, since the validation may take long."""
    future = worker.submit(request)
    while not future.done():
        if signals.wait(0.05):
            return False
    answer = future.result()
    if not isinstance(answer, m.Reply) or answer.status != 201:
        why = answer.body["message"] if isinstance(answer, m.Reply) else answer
        raise StartError(f"Connector {request.name} cannot be created: {why}", START)
    log.info("Created connector %s", request.name)
    return True
