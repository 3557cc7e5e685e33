"""Check of what a Spark connector reads or writes: brokers, databases, and folders of the worker's machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from penstock.api.check import CheckStep, KafkaTarget, TargetCheck
from penstock.api.config import with_prefix
from penstock.api.jdbc_targets import check_database
from penstock.connectors.spark.sink_settings import OPTION, format_named

PART = "target"
KAFKA = "kafka."


def check_format(config: Mapping[str, str], values: Mapping[str, Any], writes: bool) -> TargetCheck:
    options = {name.lower(): value for name, value in with_prefix(config, OPTION).items()}
    name, path = format_named(values["format"]), values["path"]
    if name == "kafka":
        topics = tuple(each.strip() for each in options.get("subscribe", options.get("topic", "")).split(",") if each)
        settings, pattern = with_prefix(options, KAFKA), options.get("subscribepattern")
        yield KafkaTarget(PART, settings, () if writes else topics, topics if writes else (), pattern)
    elif name == "jdbc" and "url" in options:
        yield from check_database(options["url"], writes)
    elif path and (local := _local(path)) is not None:
        yield _folder(local, writes)
    else:
        what = f"path {path}" if path else f"format {name}"
        yield CheckStep(PART, "storage", "not checked", f"Only Spark reaches {what}")


def _local(path: str) -> str | None:
    """Return the path of a folder that is certainly on this machine."""
    return os.path.abspath(path.removeprefix("file://").removeprefix("file:")) if path.startswith("file:") else None


def _folder(path: str, writes: bool) -> CheckStep:
    if os.path.isdir(path):
        if os.access(path, os.R_OK | os.X_OK | (os.W_OK if writes else 0)):
            return CheckStep(PART, "folder", "ok", f"The folder {path} can be {'written' if writes else 'read'}")
        return CheckStep(
            PART, "folder", "failed", f"The user of the worker may not {'write' if writes else 'read'} {path}"
        )
    if not writes:
        return CheckStep(PART, "folder", "failed", f"The folder {path} does not exist on this worker")
    above = path
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    if os.access(above, os.W_OK | os.X_OK):
        return CheckStep(PART, "folder", "ok", f"The folder {path} does not exist yet and can be created")
    return CheckStep(PART, "folder", "failed", f"The user of the worker may create no folder in {above}")
