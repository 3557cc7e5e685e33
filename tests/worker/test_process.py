"""Waiting for the signal that ends a worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

STORM = """
import signal
from penstock.worker.process import Signals

signals = Signals(signal.SIGALRM)
assert not signals.wait(0.0)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
came = sum(signals.wait(0.0001) for _ in range(20_000))
signal.setitimer(signal.ITIMER_REAL, 0)
print(came)
"""


def test_signals_that_come_while_others_are_waited_for_do_not_stop_it():
    run = subprocess.run([sys.executable, "-c", STORM], capture_output=True, text=True, timeout=900, check=True)
    assert int(run.stdout) > 100


WAITING = """
import os, signal
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from penstock.worker import process

def submit(request):
    os.kill(os.getpid(), signal.SIGTERM)
    return Future()  # a validation that hangs

def worker(settings):
    ended = SimpleNamespace(is_set=bool)
    said = lambda: print("stopped", os.environ["JAVA_HOME"])
    return SimpleNamespace(submit=submit, start=bool, stop=said, failed=ended, failure=None)

process._settings = lambda *_: SimpleNamespace(values={"penstock.log.format": "text"})
process._read = lambda _: [SimpleNamespace(name="slow"), SimpleNamespace(name="next")]
process.Worker = worker
process.run(Path("worker.properties"), True)
"""


def test_a_signal_ends_a_worker_whose_first_connector_takes_long_to_validate():
    run = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=900, check=False)
    assert (run.returncode, run.stdout.split()[0]) == (0, "stopped"), run.stderr


def test_plugins_of_a_worker_have_the_java_of_its_spark(tmp_path: Path) -> None:
    new, fitting = java_of(tmp_path / "new", "26"), java_of(tmp_path / "fitting", "17")
    env = {**os.environ, "JAVA_HOME": str(new), "PATH": f"{fitting / 'bin'}:{os.environ['PATH']}"}
    run = subprocess.run(
        [sys.executable, "-c", WAITING], env=env, capture_output=True, text=True, timeout=900, check=False
    )
    assert (run.returncode, run.stdout) == (0, f"stopped {fitting}\n"), run.stderr


STANDALONE = """
bootstrap.servers=localhost:1
listeners=http://127.0.0.1:0
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename=%s
"""


def java_of(folder: Path, version: str) -> Path:
    """Make a folder with a ``bin/java`` that says it is of this version."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '    java.specification.version = {version}\n    java.home = {folder}' >&2\n")
    program.chmod(0o755)
    return folder


def started(
    folder: Path, offsets: Path, java_home: Path | None = None, more: str = ""
) -> subprocess.CompletedProcess[str]:
    properties = folder / "worker.properties"
    properties.write_text(STANDALONE % offsets + more)
    env = {**os.environ, **({"JAVA_HOME": str(java_home)} if java_home else {})}
    command = [sys.executable, "-m", "penstock", "worker", "standalone", str(properties)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("old", [False, True], ids=["none", "old"])
def test_a_worker_without_a_java_says_so_and_ends(tmp_path: Path, old: bool) -> None:
    if old:
        java_of(tmp_path, "1.8")
    run = started(tmp_path, tmp_path / "offsets", tmp_path)
    assert run.returncode == 3
    said = f"JAVA_HOME ({tmp_path}) is Java 8" if old else f"JAVA_HOME is {tmp_path}, but {tmp_path}/bin/java does not"
    assert run.stderr.startswith(f"penstock: {said}")
    assert len(run.stderr.splitlines()) == 1


def test_a_worker_without_a_spark_that_it_runs_on_says_so_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.9.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    run = started(tmp_path, tmp_path / "offsets")
    assert run.returncode == 3
    assert run.stderr.startswith(f"penstock: Spark 4.9.1 in {tmp_path} is not supported; Penstock runs on Spark ")
    assert len(run.stderr.splitlines()) == 1


def test_a_wrong_java_for_plugins_is_refused_without_jars_too(tmp_path: Path) -> None:
    run = started(tmp_path, tmp_path / "offsets", more=f"penstock.java.home={tmp_path}")
    assert run.returncode == 2
    assert run.stderr.splitlines()[-1] == (
        f"penstock: penstock.java.home is {tmp_path}, but {tmp_path}/bin/java does not run: "
        "set it to Java 17 or newer, or unset it."
    )


def test_a_folder_for_offsets_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run = started(tmp_path, tmp_path / "nothing" / "offsets")
    assert run.returncode == 3
    assert run.stderr.splitlines()[-1] == (
        f"penstock: There is no folder for the offsets in `{tmp_path}/nothing/offsets` "
        "(offset.storage.file.filename): create it, or name a file in another one"
    )
    assert "Traceback" not in run.stderr
