"""Processes end with the one that started them, at whatever moment that is killed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from support.process_tree import alive
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal is Linux's")

# Says the process id of its child, and waits for the end.
STARTS_DRIVER = """
import os, socket, subprocess, sys, time
ours, theirs = socket.socketpair()
command = [sys.executable, "-m", "penstock.spark.driver", str(theirs.fileno()), str(os.getpid()), "hosted"]
print(subprocess.Popen(command, pass_fds=(theirs.fileno(),), start_new_session=True).pid, flush=True)
time.sleep(600)
"""
STARTS_JAVA = """
import os, sys, time
from penstock.spark.parent import popen
# As spark-submit does: a script that becomes Java.
script = f"exec {sys.executable} -c 'import time; print(0, flush=True); time.sleep(600)'"
print(popen(["/bin/sh", "-c", script], preexec_fn=lambda: None).pid, flush=True)
time.sleep(600)
"""
STARTS_DAEMON = """
import subprocess, sys, time
command = [sys.executable, "-m", "penstock.spark.daemon"]
print(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True).pid, flush=True)
time.sleep(600)
"""
WATCHES_JAVA = """
import socket, sys, time
from penstock.spark.parent import end_when_given_up, remember
remember(socket.socket(fileno=int(sys.argv[1])))
end_when_given_up()
end_when_given_up()
print(0, flush=True)
time.sleep(600)
"""


@contextmanager
def child_of(code: str, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """Start a process that runs this code; return it and the process that it has started."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        try:
            yield parent, child
        finally:
            parent.kill()
            if alive(child):
                child.kill()


def slow_module(folder: Path, name: str, seconds: float) -> dict[str, str]:
    """Return an environment in which this module's import is slow; a file in ``folder`` shows when it begins."""
    (folder / f"{name}.py").write_text(
        f"import pathlib, time\npathlib.Path({str(folder / 'begun')!r}).touch()\ntime.sleep({seconds})\n"
    )
    return {"PYTHONPATH": str(folder)}


def test_a_driver_that_is_still_importing_ends_with_its_worker(tmp_path: Path) -> None:
    with child_of(STARTS_DRIVER, slow_module(tmp_path, "orjson", 600)) as (worker, driver):
        until((tmp_path / "begun").exists, "that it imports")
        worker.kill()
        until(lambda: not alive(driver), "the end of the driver")
        assert not alive(driver)


def test_a_driver_that_is_frozen_ends_with_its_worker(tmp_path: Path) -> None:
    with child_of(STARTS_DRIVER, {}) as (worker, driver):
        until(lambda: driver.num_threads() >= 3, "that it listens to its worker")
        driver.suspend()
        worker.kill()
        until(lambda: not alive(driver), "the end of the driver")
        assert not alive(driver)


def test_java_ends_with_its_driver_also_when_it_does_not_read_its_input(tmp_path: Path) -> None:
    with child_of(STARTS_JAVA, {}) as (driver, java):
        until(lambda: "time.sleep(600)" in " ".join(java.cmdline()), "that the script has become Java")
        driver.kill()
        until(lambda: not alive(java), "the end of Java")
        assert not alive(java)


def test_the_process_that_tasks_are_forked_from_ends_with_java_while_it_imports(tmp_path: Path) -> None:
    with child_of(STARTS_DAEMON, slow_module(tmp_path, "orjson", 2)) as (java, daemon):
        until((tmp_path / "begun").exists, "that it imports")
        java.kill()
        until(lambda: not alive(daemon), "the end of the process")
        assert not alive(daemon)


def test_a_child_whose_parent_has_ended_before_it_could_ask_ends_at_once() -> None:
    code = "from penstock.spark.parent import end_with_parent; end_with_parent(1); print('works')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (114, "")


def test_a_process_of_a_task_that_java_gives_up_ends_though_it_has_not_read_all() -> None:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", WATCHES_JAVA, str(theirs.fileno())]
    with ours, subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=(theirs.fileno(),)) as process:
        theirs.close()
        assert process.stdout is not None
        process.stdout.readline()
        ours.sendall(b"rows that nobody reads")
        assert process.poll() is None
        ours.close()
        assert process.wait() == 0
