"""Cases of misbehaving connectors: the kind and the settings of each."""

from __future__ import annotations

from typing import Any

Config = dict[str, str]
SOURCE, SINK = "penstock.tests.ConductSource", "penstock.tests.ConductSink"
THROW = "throw java.lang.IllegalStateException on purpose"
CONNECT_ERROR = "org.apache.kafka.connect.errors.ConnectException"
CONNECT = f"throw {CONNECT_ERROR} on purpose"
NO_OFFSETS = "The task's preCommit has returned null instead of offsets"
NO_CONFIG = "penstock.tests.odd.Odd$NoConfig.config() must return a ConfigDef that is not null."
CONFIG = "throw org.apache.kafka.common.config.ConfigException on purpose"
ERROR = "throw java.lang.LinkageError on purpose"
MISSING = "throw org.apache.kafka.connect.errors.NotFoundException on purpose"
UNSUPPORTED = "throw java.lang.UnsupportedOperationException on purpose"


def deed(place: str, what: str = THROW, **more: str) -> Config:
    return {f"at.{place}": what, **{name.replace("__", "."): value for name, value in more.items()}}


FAIL: dict[str, tuple[str, Config]] = {
    "connector.start": (SOURCE, deed("connector.start")),
    "connector.start.error": (SOURCE, deed("connector.start", ERROR)),
    "connector.start.missing": (SOURCE, deed("connector.start", "missing")),
    "connector.start.connect": (SINK, deed("connector.start", CONNECT)),
    "raised later": (SOURCE, {"raise.after.ms": "500"}),
    "connector.context": (SOURCE, deed("connector.start", "context")),
    "start": (SOURCE, deed("start")),
    "start.context": (SOURCE, deed("start", "context")),
    "start.error": (SOURCE, deed("start", "missing")),
    "start.config": (SOURCE, deed("start", CONFIG)),
    "poll": (SOURCE, deed("poll@2")),
    "poll.error": (SOURCE, deed("poll@2", ERROR)),
    "poll.checked": (SOURCE, deed("poll@2", "throw java.io.IOException on purpose")),
    "poll.stack": (SOURCE, deed("poll@2", "throw java.lang.StackOverflowError on purpose")),
    "poll.connect": (SOURCE, deed("poll@2", CONNECT)),
    "sink.start": (SINK, deed("start")),
    "open": (SINK, deed("open")),
    "put": (SINK, deed("put")),
    "put.context": (SINK, deed("put", "context")),
    "put.error": (SINK, deed("put", ERROR)),
    "put.checked": (SINK, deed("put", "throw java.io.IOException on purpose")),
    "put.connect": (SINK, deed("put", CONNECT)),
    "too many tasks": (SOURCE, {"tasks.made": "3"}),
    "commit.null": (SINK, {"commit.null": "true"}),
    "broken task": ("penstock.tests.odd.Odd$BrokenTask", {}),
    "hidden task": ("penstock.tests.odd.Odd$HiddenTask", {}),
}
"""Cases in which the connector or a task becomes FAILED."""

ANSWERS: dict[str, tuple[str, str, str, Config]] = {
    "validate": (SOURCE, "PUT", "validate", deed("validate")),
    "validate.error": (SOURCE, "PUT", "validate", deed("validate", ERROR)),
    "validate.config": (SOURCE, "PUT", "validate", deed("validate", CONFIG)),
    "validate.null": (SOURCE, "PUT", "validate", {"valid": "null"}),
    "create": (SOURCE, "PUT", "config", deed("validate")),
    "create.error": (SOURCE, "PUT", "config", deed("validate", ERROR)),
    "create.config": (SOURCE, "PUT", "config", deed("validate", CONFIG)),
    "create.null": (SOURCE, "PUT", "config", {"valid": "null"}),
    "no config": ("penstock.tests.odd.Odd$NoConfig", "PUT", "config", {}),
    "throwing config": ("penstock.tests.odd.Odd$ThrowingConfig", "PUT", "config", {}),
    "definitions of no config": ("penstock.tests.odd.Odd$NoConfig", "GET", "plugin", {}),
    "definitions of throwing config": ("penstock.tests.odd.Odd$ThrowingConfig", "GET", "plugin", {}),
    "unmade": ("penstock.tests.odd.Odd$Unmade", "PUT", "config", {}),
    "uninitialized": ("penstock.tests.odd.Odd$Uninitialized", "PUT", "config", {}),
    "throwing version": ("penstock.tests.odd.Odd$ThrowingVersion", "PUT", "config", {}),
    "no version": ("penstock.tests.odd.Odd$NoVersion", "PUT", "config", {}),
}
"""Cases about the answer to a request: the connector's kind, method and path of the request, and its settings."""

OFFSETS = [{"partition": {"task": "0"}, "offset": {"next": 3}}]
LAST = [{"partition": {"task": "0"}, "offset": {"next": 100}}]
ALTERED: dict[str, tuple[str, Config, Any]] = {
    "altered": (SOURCE, {}, OFFSETS),
    "altered.throws": (SOURCE, deed("alterOffsets"), OFFSETS),
    "altered.connect": (SOURCE, deed("alterOffsets", CONNECT), OFFSETS),
    "altered.missing": (SOURCE, deed("alterOffsets", MISSING), OFFSETS),
    "altered.unsupported": (SOURCE, deed("alterOffsets", UNSUPPORTED), OFFSETS),
    "altered.error": (SOURCE, deed("alterOffsets", ERROR), OFFSETS),
    "sink altered": (SINK, {}, [{"partition": {"kafka_topic": "TOPIC", "kafka_partition": 0}, "offset": None}]),
    "unsupported": ("penstock.tests.odd.Odd", {}, OFFSETS),
    "reset": (SOURCE, {}, None),
    "reset.throws": (SOURCE, deed("alterOffsets"), None),
}
"""Cases in which a stopped connector's offsets are altered or deleted."""

RUN: dict[str, tuple[str, Config, str]] = {
    "taskConfigs": (SOURCE, deed("taskConfigs"), "taskConfigs"),
    "no list of tasks": (SOURCE, {"tasks.made": "null"}, "taskConfigs"),
    "a list of null": (SOURCE, {"tasks.made": "hole"}, "taskConfigs"),
    "no tasks": (SOURCE, {"tasks.made": "0"}, "taskConfigs"),
    "no task class": ("penstock.tests.odd.Odd$NoTaskClass", {}, ""),
    "connector.stop": (SOURCE, deed("connector.stop"), "poll"),
    "commit": (SOURCE, deed("commit"), "commit"),
    "commitRecord": (SOURCE, deed("commitRecord"), "commitRecord"),
    "stop": (SOURCE, deed("stop"), "poll"),
    "flush": (SINK, deed("flush"), "flush"),
    "close": (SINK, deed("close"), "put"),
    "sink.stop": (SINK, deed("stop"), "put"),
    "retried": (SINK, deed("put@1", "throw org.apache.kafka.connect.errors.RetriableException not yet"), "put"),
    "fewer tasks": (SOURCE, {"reconfigure.after.ms": "500", "tasks.then": "2", "tasks.max": "3"}, "poll"),
}
"""Cases in which the connector goes on or never begins, with a call that both workers make."""
