"""The archive of the classes of a host's JVM, see ``embedded/class_data.py``: ``python -m`` this module makes it.

A worker runs that a minute after it has started its JVM, if there is none for the Java in use.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from penstock.embedded import class_data
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm.build import class_path
from penstock.hosts.jvm.messages.worker import DescribeJvm, OpenSession
from penstock.hosts.jvm.plugins.catalogue import java_executable
from penstock.hosts.jvm.process import CLASS_DATA, JvmSpec, open_session

MODULE = "penstock.hosts.jvm.class_data"


def make(java: Path | None = None, jars: Sequence[Path] = ()) -> None:
    """Start a JVM of this executable, by default the one that Spark uses, with this class path, by default that of the
    default Kafka; end it, and leave the archive. Raises EmbeddedError.
    """
    executable, jars = java or java_executable(None), jars or class_path()
    made = class_data.archive(CLASS_DATA, executable, jars)

    def write(draft: Path) -> None:
        options = ["-Xmx1g", *class_data.writing(executable, made, draft)]  # Java uses no archive of a much larger heap
        _write(JvmSpec(uuid.uuid4().hex, executable, jars, options))

    class_data.make(made, write)


def make_when_quiet(spec: JvmSpec, seconds: float = class_data.QUIET) -> None:
    """Make the archive for the JVM of this spec if it is missing, after so many seconds. Called in a thread."""
    with suppress(OSError):
        if not class_data.decided(spec.options):
            made = class_data.archive(CLASS_DATA, spec.java, spec.class_path)
            class_data.make_when_quiet([MODULE, str(spec.java), *map(str, spec.class_path)], made, seconds)


def _write(spec: JvmSpec) -> None:
    session = open_session(spec, OpenSession("class data"))
    try:
        session.call(DescribeJvm())
        os.kill(session.pid, signal.SIGTERM)
        with suppress(ProcessLookupError):
            while True:
                os.kill(session.pid, 0)
                time.sleep(0.05)
    finally:
        session.close()
        shutil.rmtree(spec.folder(), ignore_errors=True)


def main(arguments: Sequence[str]) -> None:
    class_data.give_way()
    try:
        java, *jars = map(Path, arguments) if arguments else (None,)
        make(java, jars)
    except EmbeddedError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
