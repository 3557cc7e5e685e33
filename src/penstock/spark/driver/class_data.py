"""An archive of the classes of Spark's Java, with which it starts in about half the time (Java's class data sharing).

It is made once for each Java and each PySpark, in Penstock's cache folder, by a Java that starts as that of hosted
tasks does and ends: ``python -m penstock.spark.driver.class_data``. The driver of hosted tasks runs that when it has
been up for a minute and there is none. Java silently ignores an archive of another Java or of other jars.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyspark

from penstock.embedded import EmbeddedError, class_data
from penstock.embedded.home import home
from penstock.spark import task
from penstock.spark.java import spark_java
from penstock.spark.parent import popen
from penstock.spark.settings import HostSettings, environment, start

log = logging.getLogger(__name__)

OPTIONS = "spark.driver.defaultJavaOptions"


def archive() -> Path:
    """Return the path of the archive for this Java and this PySpark, which may not exist yet.

    The file is empty if this Java can't make one. Raises EmbeddedError if there is no Java.
    """
    where, jars = (spark_java().home / "lib").resolve().parent, Path(pyspark.__file__).parent / "jars"  # no launcher
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
    return _line(class_data.using(archive))


def writing(archive: Path, draft: Path) -> str:
    """The options with which the Java in use writes the draft of an archive when it ends. Raises EmbeddedError if there
    is no Java.
    """
    return _line(class_data.writing(spark_java().executable, archive, draft))


def _line(options: Sequence[str]) -> str:
    return " ".join(f'"{each}"' if each.startswith("-XX:") else each for each in options)


def make_when_quiet(conf: Mapping[str, str], seconds: float = class_data.QUIET) -> None:
    """Make the archive if it is missing, in a process that gives way to all others, after so many seconds. Called in a
    thread that lives as long as the driver; that process ends with it.
    """
    with suppress(EmbeddedError):
        if _decided(conf) or archive().exists():
            return
        time.sleep(seconds)
        command = [sys.executable, "-m", __spec__.name]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        status = popen(command, preexec_fn=class_data.give_way, **quiet).wait()
        if status:
            log.info("No archive of Java's classes was made, so that the next start takes longer: `%s` ended with "
                     "status %d", " ".join(command), status)  # fmt: skip


def make() -> None:
    """Start Spark in this process, end it, and leave the archive; nothing, if another process is about to. Raises
    EmbeddedError.
    """
    made = archive()
    class_data.make(made, lambda draft: _write(made, draft))


def _write(made: Path, draft: Path) -> None:
    conf = HostSettings().conf()
    conf[OPTIONS] += f" {writing(made, draft)}"
    os.environ |= environment(conf)
    context = start(conf)
    context.parallelize([0], 1).mapPartitions(task.probe).collect()
    process = context._gateway.proc  # type: ignore[union-attr]
    context.stop()
    process.stdin.close()
    process.wait(class_data.END_SECONDS)


def _decided(conf: Mapping[str, str]) -> bool:
    given = (conf.get(OPTIONS, ""), conf.get("spark.driver.extraJavaOptions", ""))
    return class_data.decided([*given, os.environ.get("SPARK_SUBMIT_OPTS", "")])


if __name__ == "__main__":
    try:
        make()
    except EmbeddedError as error:
        sys.exit(str(error))
