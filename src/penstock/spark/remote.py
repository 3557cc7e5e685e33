"""Refusal of Spark Connect: neither hosted tasks nor queries run over it, as they need a SparkContext and its Java."""

from __future__ import annotations

import os
from collections.abc import Mapping

from penstock.api.errors import ConfigError
from penstock.core.config.secrets import without_passwords
from penstock.java.errors import PropertiesError
from penstock.java.properties import parse_properties
from penstock.spark.command_line import defaults_text

_REMOTE = "SPARK_REMOTE"
"""The variable by which a PySpark is a client of Spark Connect."""


def refuse(given: Mapping[str, str], prefix: str = "") -> None:
    """Raises ConfigError for settings of Spark Connect."""
    if "spark.remote" in given:
        setting = f"{prefix}spark.remote={_shown(given['spark.remote'])}"
    elif (mode := given.get("spark.api.mode", "classic")).strip().lower() != "classic":
        setting = f"{prefix}spark.api.mode={mode}"
    else:
        return
    raise _refused(setting)


def refuse_elsewhere() -> None:
    """Raises ConfigError if a variable or ``spark-defaults.conf`` makes this process a client of Spark Connect."""
    if url := os.environ.get(_REMOTE):
        raise _refused(f"{_REMOTE}={_shown(url)} in the environment")
    try:
        given = parse_properties(defaults_text())
    except PropertiesError:  # Spark's Java says so
        return
    refuse({key: value.strip() for key, value in given.items()}, "spark-defaults.conf: ")


def _refused(setting: str) -> ConfigError:
    return ConfigError(
        f"{setting} can't be used, because neither hosted tasks nor queries run over Spark Connect, which has no "
        "SparkContext and no access to Spark's Java: leave it out, and set spark.master to the cluster itself "
        "(spark://…, yarn or k8s://…)."
    )


def _shown(url: str) -> str:
    return without_passwords(url.partition(";")[0])  # a token may follow
