"""The archive of Java's classes: made once in the background, and mapped by JVMs that start after that."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.spark.driver import class_data
from penstock.spark.driver.class_data import OPTIONS, archive, make_when_quiet, using, with_archive
from penstock.spark.settings import HostSettings

STARTS = """
import os, sys
from penstock.spark.driver.class_data import with_archive
from penstock.spark.settings import HostSettings, environment, start

conf = with_archive(getattr(HostSettings(), sys.argv[1])())
os.environ |= environment(conf)
java = start(conf)._gateway.proc
print([line for line in open(f"/proc/{java.pid}/maps") if ".jsa" in line and os.environ["PENSTOCK_HOME"] in line] != [])
java.stdin.close()
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a separate home, without the JVM options for archives that other tests set."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "a home"))
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)


def uses_archive(application: str) -> bool:
    """Return whether an application's JVM has mapped the archive of the home."""
    command = [sys.executable, "-c", STARTS, application]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1] == "True"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process has mapped")
def test_it_is_made_once_and_then_used() -> None:
    conf = HostSettings().conf()
    assert not archive().exists()
    assert not uses_archive("conf")
    makers = [threading.Thread(target=make_when_quiet, args=(conf, 0)) for _ in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    made = archive().stat()
    assert made.st_size > 0
    beside = {path.name for path in archive().parent.iterdir()} - {archive().with_suffix(".base.jsa").name}
    assert beside == {archive().name, archive().with_suffix(".lock").name}
    assert uses_archive("conf")
    assert uses_archive("query_conf")
    make_when_quiet(conf, 0)
    class_data.make()
    assert archive().stat().st_mtime_ns == made.st_mtime_ns


def test_without_one_and_with_an_empty_one_nothing_changes() -> None:
    conf = HostSettings().conf()
    assert with_archive(conf) == conf
    archive().parent.mkdir(parents=True)
    archive().touch()
    assert with_archive(conf) == conf
    archive().write_bytes(b"classes")
    assert with_archive(conf)[OPTIONS] == f"{conf[OPTIONS]} {using(archive())}"


@pytest.mark.parametrize("key", [OPTIONS, "spark.driver.extraJavaOptions"])
def test_who_says_it_otherwise_decides(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    archive().parent.mkdir(parents=True)
    archive().write_bytes(b"classes")
    conf = HostSettings(spark={key: "-Xmx300m -Xshare:off"}).conf()
    assert with_archive(conf) == conf
    archive().unlink()
    make_when_quiet(conf, 0)
    assert not archive().exists()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:SharedArchiveFile=/own.jsa")
    make_when_quiet(HostSettings().conf(), 0)
    assert not archive().exists()
