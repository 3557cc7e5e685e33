"""The process of a worker: from its properties file to its end by a signal."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from penstock.api.errors import ConfigError
from penstock.core import messages as m
from penstock.observe import start_logging
from penstock.settings import load_settings
from penstock.worker.assembly import Worker
from penstock.worker.connector_file import read_connector

log = logging.getLogger(__name__)


def run(properties: Path, standalone: bool = False, connectors: Sequence[Path] = ()) -> None:
    """Run until SIGTERM or SIGINT, or until the worker can't go on (exit status 1 and a sentence in the log).

    Raises ConfigError for settings and files that can't be followed.
    """
    start_logging()
    try:
        settings = load_settings(properties, standalone)
    except OSError as error:
        raise ConfigError(f"The properties file {properties} cannot be read: {error.strerror}") from error
    start_logging(format=settings.values["penstock.log.format"])
    creations = [read_connector(path) for path in connectors]
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    worker = Worker(settings)
    worker.start()
    for creation_ in creations:
        _create(worker, creation_)
    while not ending.wait(0.2) and not worker.failed.is_set():
        pass
    if worker.failure is not None:
        log.error("The worker cannot go on: %s", worker.failure)
    worker.stop()
    sys.exit(0 if worker.failure is None else 1)


def _create(worker: Worker, request: m.CreateConnector) -> None:
    answer = worker.submit(request).result()
    if isinstance(answer, m.Reply) and answer.status == 201:
        log.info("Created connector %s", request.name)
    else:
        log.error("Failed to create connector %s: %s", request.name, answer)
