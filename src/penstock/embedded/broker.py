"""A real Kafka broker on this machine, for demo, tests and development. Not for production: nothing is replicated."""

from __future__ import annotations

import base64
import fcntl
import os
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from penstock.api.processes import child_environment, leashed
from penstock.embedded import class_data
from penstock.embedded.home import EmbeddedError, folder, refusal, writing
from penstock.embedded.jars import jars
from penstock.embedded.java import java
from penstock.embedded.ports import answers, listens, ports
from penstock.embedded.server import LOGGING, disk_full, explanation, port_taken, properties_text, server_properties
from penstock.scratch import Scratch

FREE_TO_START = 100 * 2**20
START_SECONDS = 180
STOP_SECONDS = 15
CLASS_DATA = "broker"
"""The name of the archive of its classes, which ``broker_class_data.py`` makes."""


class Broker:
    """A broker whose data, settings and log lie in ``data_dir``; without one, in a scratch folder, gone afterwards.

    ``port`` 0 takes a free one. ``extra`` are further server properties; see ``server_properties``. Used as a context
    manager, or ``start()`` and ``stop()``. It never outlives this process, however that ends, unless ``leash`` is
    false. ``lasting``: it serves for long, or is measured, so Java's second compiler is worth the third of the
    processor time that it takes at first. Raises EmbeddedError.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        port: int = 0,
        *,
        extra: Mapping[str, str] | None = None,
        leash: bool = True,
        lasting: bool = False,
        free_to_start: int = FREE_TO_START,
    ) -> None:
        self._scratch: Scratch | None = None
        if data_dir is None:
            self._scratch = Scratch("kafka")
            data_dir = self._scratch.path
        self.directory = Path(data_dir).absolute()
        self._wanted_port = port
        self._extra = dict(extra or {})
        self._leash = leash
        self._compilers = "4" if lasting else "1"
        self._free_to_start = free_to_start
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port
        self._data = self.directory / "data"
        self._settings = self.directory / "server.properties"
        self._log = self.directory / "broker.log"
        self._console = self.directory / "console.log"

    def class_path(self) -> list[Path]:
        """Return Kafka's jars. Raises EmbeddedError."""
        return jars("kafka")

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when the broker answers. A scratch folder is removed when it does not get that far."""
        try:
            self._prepare()
            # A free port may be taken between asking for it and binding it.
            for attempts_left in (2, 1, 0):
                self.port, controller_port = ports(self._wanted_port)
                failure = self._attempt(controller_port)
                if failure is None:
                    self._make_class_data()
                    return
                if self._wanted_port or not attempts_left or failure != port_taken(self.port):
                    raise EmbeddedError(failure)
        except BaseException:
            self.stop()
            raise

    def _make_class_data(self) -> None:
        """If this process lives as long as the broker, which lives for a minute."""
        made = class_data.archive(CLASS_DATA, self._java.executable, self._classpath)
        if self._leash and not made.exists():
            arguments = (["penstock.embedded.broker_class_data"], made)
            threading.Thread(target=class_data.make_when_quiet, args=arguments, name="class-data", daemon=True).start()

    def stop(self) -> None:
        """Ends the broker in good order, by force after 15 s; one in a scratch folder has nothing to save: at once."""
        self.end(STOP_SECONDS if self._scratch is None else 0)
        if self._scratch is not None:
            self._scratch.close()

    def end(self, seconds: float) -> None:
        """End the broker in good order, by force after so many seconds; its scratch folder stays."""
        if self._process is not None:
            _end(self._process, seconds)
            self._process = None

    def _prepare(self) -> None:
        folder(self._data)
        if holds_lock(self._data):
            raise EmbeddedError(f"Another broker uses {self.directory}: stop it first, or choose another folder.")
        free = shutil.disk_usage(self.directory).free
        if free < self._free_to_start:
            raise EmbeddedError(
                f"No space is left on the disk of {self.directory}: {free / 2**20:.0f} MB are free, and a broker needs "
                f"{self._free_to_start / 2**20:.0f} MB to start; free some, or choose another folder for its data."
            )
        self._java = java()
        self._classpath = self.class_path()

    def _attempt(self, controller_port: int) -> str | None:
        """Starts once; the sentence that says why it failed, or None when the broker answers."""
        settings = server_properties(self._data, self.port, controller_port, self._extra)
        with writing(self.directory):
            self._settings.write_text(properties_text(settings))
            (self.directory / "log4j2.xml").write_text(LOGGING.format(log=self._log))
            self._console.write_bytes(b"")
        before = self._log.stat().st_size if self._log.exists() else 0
        if self._formatted() or self._format():
            self._launch()
            if self._answered():
                return None
        return self._failure(before)

    def _formatted(self) -> bool:
        try:
            return "node.id=" in (self._data / "meta.properties").read_text()
        except FileNotFoundError:
            return False

    def _format(self) -> bool:
        """Prepares the empty data folder, as Kafka wants it done once. Its exit status says less than what it wrote."""
        # What an interrupted attempt may have left; there is nothing else yet.
        for name in ("meta.properties", "bootstrap.checkpoint"):
            (self._data / name).unlink(missing_ok=True)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22].replace("-", "A")
        arguments = ("format", "--cluster-id", cluster, "--config", str(self._settings))
        command = self._command("kafka.tools.StorageTool", *arguments, heap="128m")
        with self._console.open("ab") as output:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        return self._formatted()

    def _launch(self) -> None:
        command = self._command("kafka.Kafka", str(self._settings), heap="1g", initial="512m")
        command = leashed(command) if self._leash else command
        with self._console.open("ab") as output:
            # A session of its own: Ctrl-C at the terminal is its owner's to handle.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if self._leash else subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=child_environment(),
                start_new_session=True,
            )

    def _answered(self) -> bool:
        give_up = time.monotonic() + START_SECONDS
        ready = listens if self._extra.get("process.roles") == "controller" else answers
        while self.running and time.monotonic() < give_up:
            if ready(self.port):
                return True
            time.sleep(0.05)
        return False

    def _failure(self, before: int) -> str:
        """Why it does not answer; ``before`` is where its log ended when it was started. Ends what still runs of it."""
        if self._process is not None:
            late = self.running
            _end(self._process, 0)
            self._process = None
            if late:
                return f"The broker did not answer within {START_SECONDS} s (its log is {self._log})."
        if shutil.disk_usage(self.directory).free < 2**20:  # then the log may not say so
            return disk_full(self.directory)
        logged = self._log.read_bytes()[before:] if self._log.exists() else b""
        return explanation((self._console.read_bytes() + logged).decode(errors="replace"), self.directory, self.port)

    def _command(self, main: str, *arguments: str, heap: str, initial: str = "64m") -> list[str]:
        return [
            str(self._java.executable),
            *(f"-Xms{initial}", f"-Xmx{heap}", "-XX:+UseSerialGC", f"-XX:TieredStopAtLevel={self._compilers}"),
            *class_data.options(CLASS_DATA, self._java.executable, self._classpath),
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self.directory / 'log4j2.xml'}",
            *("-cp", os.pathsep.join(map(str, self._classpath)), main, *arguments),
        ]


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Ends the JVM and what the leash left in its session. Its id can't belong to anybody else while that is there."""
    try:
        if seconds and process.poll() is None:
            process.terminate()
            process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    if process.stdin:
        process.stdin.close()


def holds_lock(data: Path) -> bool:
    """Whether a live broker works in ``data``: Kafka keeps a lock on the file ``.lock`` there."""
    try:
        with (data / ".lock").open("r+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except BlockingIOError:
        return True
    except OSError as e:
        raise EmbeddedError(refusal(e, data)) from e
    return False
