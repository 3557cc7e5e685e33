"""``penstock run``: a broker, a worker and one connector with the plugin that is being written.

What is changed takes effect: another configuration at once, by ``PUT``, another plugin by a worker that starts again
and goes on at the offsets of the one before.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from penstock.api.errors import ConfigError
from penstock.embedded import Broker, EmbeddedError
from penstock.embedded.ports import free_port
from penstock.embedded.server import properties_text
from penstock.http.client import Client
from penstock.http.client_errors import ClientError, ResourceNotFoundError, UnreachableError
from penstock.observe import one_line
from penstock.scratch import Scratch
from penstock.trial.log import WorkerLog
from penstock.trial.plugin import FileChanges, config_file, plugin_path, require_own_modules
from penstock.trial.put import Put, in_short
from penstock.trial.topics import Lines, TrialRecords
from penstock.trial.worker import LocalWorker
from penstock.worker.connector_file import read_connector

START_SECONDS = 300
REBALANCE_SECONDS = 60.0
LOOK_SECONDS = 0.5
"""Interval in seconds at which files and statuses are checked."""


def worker_properties(bootstrap: str, port: int, plugin_path: Path, folder: Path) -> str:
    """The file of a session's worker."""
    settings = {
        "bootstrap.servers": bootstrap,
        "listeners": f"http://127.0.0.1:{port}",
        "plugin.path": str(plugin_path),
        "offset.storage.file.filename": f"{folder}/offsets",
        "offset.flush.interval.ms": "1000",
        "penstock.log.format": "json",
    }
    for converter in ("key.converter", "value.converter"):
        settings[converter] = "org.apache.kafka.connect.json.JsonConverter"
        settings[f"{converter}.schemas.enable"] = "false"
    return properties_text(settings)


@dataclass
class TrialSession:
    """``records``: after so many it ends; 0 for never. With a sink it ends also when all lines of the input are behind
    its committed offsets. Raises EmbeddedError.
    """

    config: Path
    bootstrap: str
    worker: LocalWorker
    client: Client
    changes: FileChanges
    log: WorkerLog
    records: int = 0
    interrupted: threading.Event = field(default_factory=threading.Event)
    """Set by the handler of Ctrl-C. An interrupt that is raised while a C library calls Python may get lost."""
    _name: str | None = None
    _putting: Put | None = None
    """The configuration that the worker is given."""
    _failures: dict[str, str] = field(default_factory=dict)
    _lines: Lines | None = None

    def run(self) -> None:
        """Returns when so many records have been shown, or a sink has done all it was given; ends otherwise by
        KeyboardInterrupt.
        """
        self._start()
        shown, seen = TrialRecords(self.bootstrap), 0
        try:
            while True:
                if self.interrupted.is_set():
                    raise KeyboardInterrupt
                self._look(shown)
                if self._name is not None and self._lines is not None and self._has_put(self._name, self._lines):
                    return
                until = time.monotonic() + LOOK_SECONDS
                while (left := until - time.monotonic()) > 0:
                    most = min(500, self.records - seen) if self.records else 500
                    for line in shown.lines(most, left):
                        print(one_line(line), flush=True)
                        seen += 1
                    if self.records and seen >= self.records:
                        return
        finally:
            shown.close()

    def _look(self, shown: TrialRecords) -> None:
        """At the files, the log, the status, the topics."""
        changed = self.changes.since_last()
        if changed and all(path.absolute() == self.config.absolute() for path in changed):
            say(f"{self.config} has changed.")
            self._configure()
        elif changed:
            say(f"{', '.join(sorted({path.name for path in changed}))} changed: the worker starts again.")
            self.worker.stop()
            self._start()
        for line in self.log.news():
            say(line)
        if (reason := self.worker.ended()) is not None:
            raise EmbeddedError(reason)
        if self._putting is not None and self._putting.done():
            self._configured(self._putting)
        elif self._putting is not None and self._putting.late:
            self._name = self._putting.name  # it may be there already, and its status says more
        if self._name is not None:
            self._connector(self._name, shown)

    def _connector(self, name: str, shown: TrialRecords) -> None:
        try:
            status = self.client.status(name)
            if status["type"] == "source":
                shown.follow(self.client.topics(name))
            elif self._lines is None:
                self._read_lines(name)
        except ClientError:
            return  # not started yet, or a rebalance: it is asked again soon
        instances = {f"Connector {name}": status["connector"]}
        instances |= {f"Task {task['id']} of connector {name}": task for task in status["tasks"]}
        failures = {what: state["trace"] for what, state in instances.items() if state["state"] == "FAILED"}
        for what, trace in failures.items():
            if self._failures.get(what) != trace:
                say(f"{what} has failed:\n{trace.rstrip()}\n{self._mend()}")
        self._failures = failures
        if failures and (self.records or (self._lines is not None and self._lines.ended)):
            raise EmbeddedError(f"{next(iter(failures))} has failed.")

    def _read_lines(self, name: str) -> None:
        """Send each typed line to the sink's first topic."""
        if topic := self.client.config(name).get("topics", "").split(",")[0].strip():
            say(f"Each line that is typed becomes a record of topic {topic}.")
            self._lines = Lines(self.bootstrap, topic, sys.stdin)

    def _has_put(self, name: str, lines: Lines) -> bool:
        """Whether the sink has committed the offsets of all that was typed, or of as many records as it is to end
        after.
        """
        if lines.failure is not None:
            raise EmbeddedError(lines.failure)
        if not (self.records or lines.ended):
            return False
        wanted = min(self.records or lines.sent, lines.sent) if lines.ended else self.records
        try:
            committed = self.client.committed(name)
        except ClientError:  # asked again soon
            return False
        return sum(offset for (topic, _), offset in committed.items() if topic == lines.topic) >= wanted

    def _start(self) -> None:
        self._failures = {}
        self.worker.start()
        give_up = time.monotonic() + START_SECONDS
        while not self.client.healthy():
            if (reason := self.worker.ended()) is not None:
                raise EmbeddedError(reason)
            if time.monotonic() > give_up:
                raise EmbeddedError(f"The worker did not answer within {START_SECONDS} s. {self.worker.last_lines()}")
            time.sleep(0.1)
        self._configure()

    def _configure(self) -> None:
        """Creates the connector or changes it; ``_look`` sees the answer."""
        self._putting = None
        try:
            wanted = read_connector(self.config, self.config.stem)
        except ConfigError as error:
            self._wrong(error)
            return
        if self._name not in (None, wanted.name):
            self._delete(str(self._name))
        self._putting = Put(self.client, wanted.name, wanted.config)

    def _configured(self, put: Put) -> None:
        self._putting = None
        try:
            put.result()
        except UnreachableError as error:
            raise EmbeddedError(str(error)) from error
        except ClientError as error:
            if self._has_failed(put.name, str(error)):  # it has been created; its trace is shown with its status
                self._name = put.name
            else:
                self._wrong(EmbeddedError(in_short(str(error), put.config)))
            return
        self._name = put.name
        say(f"Connector {put.name} has this configuration now.")

    def _has_failed(self, name: str, reason: str) -> bool:
        """Whether it is FAILED for this reason."""
        try:
            connector = self.client.status(name)["connector"]
        except ClientError:
            return False
        return connector["state"] == "FAILED" and reason in connector["trace"]

    def _wrong(self, error: Exception) -> None:
        """Show the connector's error; the next change may correct it."""
        if self.records:
            raise EmbeddedError(str(error)) from error
        say(f"{error}\n{self._mend()}")

    def _mend(self) -> str:
        return f"Correct {self.config} or the plugin; it is tried again when they change."

    def _delete(self, name: str) -> None:
        try:
            self.client.delete(name)
        except ResourceNotFoundError:  # the worker has started again since
            pass
        except ClientError as error:
            say(str(error))


@contextmanager
def session(
    plugin: Path, config: Path | None = None, records: int = 0, interrupted: threading.Event | None = None
) -> Iterator[TrialSession]:
    """With a broker and a worker that end with the block. Raises EmbeddedError."""
    path = plugin_path(plugin)
    require_own_modules(path)
    config = config_file(plugin, config)
    with ExitStack() as ending:
        folder = ending.enter_context(Scratch("run")).resolve()
        say("Starting a Kafka broker, then a worker.")
        bootstrap = ending.enter_context(Broker(folder / "kafka")).bootstrap
        port = free_port()
        properties = folder / "worker.properties"
        properties.write_text(worker_properties(bootstrap, port, path, folder))
        worker = LocalWorker(folder, ["standalone", str(properties)])
        ending.callback(worker.stop)
        client = ending.enter_context(Client(f"http://127.0.0.1:{port}", patience=REBALANCE_SECONDS))
        say(f"Kafka at {bootstrap}, a worker at {client.url}, its log in {worker.log}; Ctrl-C ends them.")
        changes = FileChanges(path, config)
        log = WorkerLog(worker.log)
        asked = interrupted or threading.Event()
        yield TrialSession(config, bootstrap, worker, client, changes, log, records, asked)


def say(text: str) -> None:
    """Beside the records, which alone are on standard output."""
    print("\n".join(map(one_line, text.split("\n"))), file=sys.stderr, flush=True)
