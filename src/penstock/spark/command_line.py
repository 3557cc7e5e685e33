"""Settings of Spark on the command line of its Java, which everybody on the machine can read."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.api.processes import is_secret_option, java_options
from penstock.core.config.secrets import is_secret, without_secrets

_AT_LAUNCH = ("spark.jars", "spark.files", "spark.archives", "spark.submit.", "spark.kubernetes.", "spark.yarn.")
"""Settings that Java has to know when it is started; the others it gets by a socket."""
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_JAVAS_OPTIONS = ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions")


@contextmanager
def command_line(conf: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Return the settings that may be on the command line. Java is started inside of this context.

    Those with secrets that Java needs at once are in files that only this user can read, as long as Java starts: its
    options in one of Java's, the others in one of Spark's, which is named by the environment of this process.
    """
    secret = {key for key, value in conf.items() if is_secret(key) or without_secrets(value) != value}
    public = {key: value for key, value in conf.items() if key not in secret}
    given = os.environ.get(_ARGUMENTS)
    with tempfile.TemporaryDirectory(prefix="penstock-spark-") as folder:  # of mode 700
        for key in _JAVAS_OPTIONS:
            options = shlex.split(conf.get(key, ""))
            if any(_is_secret_option(option) for option in options):
                public[key] = shlex.join(java_options(options, Path(folder, key), _is_secret_option))
        at_launch = {key: conf[key] for key in sorted(secret) if key.startswith(_AT_LAUNCH)}
        if at_launch and "--properties-file" not in (given or ""):
            file = Path(folder, "spark.conf")
            file.touch(0o600)
            file.write_text(defaults_text() + "".join(f"{key} {_line(value)}\n" for key, value in at_launch.items()))
            os.environ[_ARGUMENTS] = f"--properties-file {file} {given or 'pyspark-shell'}"
        try:
            yield public
        finally:
            if given is None:
                os.environ.pop(_ARGUMENTS, None)
            else:
                os.environ[_ARGUMENTS] = given


def _is_secret_option(option: str) -> bool:
    return is_secret_option(option) or without_secrets(option) != option


def _line(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def defaults_text() -> str:
    """Return the text of ``spark-defaults.conf``, which Spark does not read if it is given another file."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home(), "conf")
    try:
        return Path(folder, "spark-defaults.conf").read_text().rstrip("\n") + "\n"
    except OSError:
        return ""
