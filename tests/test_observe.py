"""Levels of loggers as clients see them, and the format of log lines."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock
from penstock.observe import (
    AUDIT,
    COUNTERPARTS,
    JsonLines,
    LogLevels,
    TextLines,
    add_context,
    log_context,
    start_logging,
)
from support.log_levels import levels_kept


@pytest.fixture
def levels() -> Iterator[LogLevels]:
    with levels_kept():
        yield LogLevels()


def test_a_level_is_shown_with_the_time_of_its_change(levels: LogLevels) -> None:
    before = int(time.time() * 1000)
    assert levels.set("observe.a", "DEBUG") == ["observe.a"]
    shown = levels.get("observe.a")
    assert shown is not None
    assert shown["level"] == "DEBUG"
    assert before <= shown["last_modified"] <= before + 5000
    assert levels.all()["observe.a"] == shown


@pytest.mark.parametrize("level", ["debug", "Debug", " DEBUG "])
def test_letters_of_a_level_may_be_small(levels: LogLevels, level: str) -> None:
    levels.set("observe.small", level)
    assert levels.get("observe.small")["level"] == "DEBUG"  # type: ignore[index]


@pytest.mark.parametrize("level", ["ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"])
def test_every_level_of_java(levels: LogLevels, level: str) -> None:
    logging.root.setLevel(logging.NOTSET + 3)
    levels.set("observe.java", level)
    assert levels.get("observe.java")["level"] == level  # type: ignore[index]


def test_only_loggers_that_had_another_level_are_named(levels: LogLevels) -> None:
    logging.root.setLevel(logging.WARNING)
    assert levels.set("observe.same", "DEBUG") == ["observe.same"]
    assert levels.set("observe.same", "DEBUG") == []


def test_an_inherited_level_is_no_other(levels: LogLevels) -> None:
    logging.root.setLevel(logging.WARNING)
    assert levels.set("observe.heir", "WARN") == []
    assert levels.get("observe.heir") == {"level": "WARN", "last_modified": None}
    assert levels.set("observe.heir", "INFO") == ["observe.heir"]


def test_switched_off_loggers_are_not_listed(levels: LogLevels) -> None:
    logging.root.setLevel(logging.WARNING)
    assert levels.set("observe.mute", "OFF") == ["observe.mute"]
    assert levels.set("observe.mute", "OFF") == ["observe.mute"]
    assert levels.get("observe.mute")["level"] == "OFF"  # type: ignore[index]
    assert "observe.mute" not in levels.all()
    assert levels.set("observe.mute", "WARN") == ["observe.mute"]
    assert "observe.mute" in levels.all()


def test_a_level_reaches_all_whose_names_begin_so(levels: LogLevels) -> None:
    for name in ("observe.top.child.a", "observe.topmost"):
        levels.set(name, "DEBUG")
    assert levels.set("observe.top", "ERROR") == ["observe.top", "observe.top.child.a", "observe.topmost"]
    assert levels.get("observe.top.child.a")["level"] == "ERROR"  # type: ignore[index]
    assert levels.get("observe.top.child") is None


@pytest.mark.parametrize("name", ["root", "ROOT", "Root"])
def test_root_by_any_spelling(levels: LogLevels, name: str) -> None:
    logging.root.setLevel(logging.WARNING)
    logging.getLogger("observe.under")
    assert {"root", "observe.under"} <= set(levels.set(name, "ERROR"))
    assert levels.get(name)["level"] == "ERROR"  # type: ignore[index]
    assert logging.getLogger("observe.under").getEffectiveLevel() == logging.ERROR


@pytest.mark.parametrize(
    "name", ["root", "p", "penstock", "penstock.audi", "org", "org.apache.kafka.connect", "org.apache.kafka"]
)
def test_the_audit_log_stays_on(levels: LogLevels, name: str) -> None:
    logging.root.setLevel(logging.INFO)
    for level in ("WARN", "OFF"):
        assert AUDIT not in levels.set(name, level)
        assert logging.getLogger(AUDIT).isEnabledFor(logging.INFO)
    assert levels.set(AUDIT, "WARN") == [AUDIT]
    levels.set(name, "DEBUG")
    assert logging.getLogger(AUDIT).getEffectiveLevel() == logging.WARNING


def test_the_list_after_a_change_of_root_has_the_loggers_that_changed(levels: LogLevels) -> None:
    """Kafka's system tests compare the list; the audit log keeps its level, so it is not listed."""
    logging.getLogger("observe.listed")
    changed = levels.set("root", "ERROR")
    listed = levels.all()
    assert AUDIT not in {*changed, *listed}
    assert {each["level"] for each in listed.values()} == {"ERROR"}
    levels.set(AUDIT, "TRACE")
    assert levels.all()[AUDIT]["level"] == "TRACE"


def test_unknown_loggers_are_none(levels: LogLevels) -> None:
    assert levels.get("observe.never.used") is None


@pytest.mark.parametrize("java", ["org", "org.apache.kafka", "org.apache.kafka.connect"])
def test_packages_of_java_take_ours_with_them(levels: LogLevels, java: str) -> None:
    own = logging.getLogger("penstock.worker.loop")
    assert levels.set(java, "TRACE")[0] == java
    assert (own.getEffectiveLevel(), own.isEnabledFor(5)) == (5, True)
    assert levels.get(java)["level"] == "TRACE"  # type: ignore[index]


def test_a_class_of_java_takes_only_its_counterpart(levels: LogLevels) -> None:
    levels.set("org.apache.kafka.connect.runtime.WorkerSinkTask", "TRACE")
    assert logging.getLogger("penstock.pipeline.sink.task").getEffectiveLevel() == 5
    assert logging.getLogger("penstock.pipeline.source.loop").getEffectiveLevel() > 5


def test_our_names_are_no_part_of_the_answer(levels: LogLevels) -> None:
    logging.getLogger("penstock.worker.loop")
    assert all(name.startswith("org.apache.kafka") for name in levels.set("org.apache.kafka", "DEBUG"))


def test_classes_of_java_are_there_once_logging_has_started(levels: LogLevels) -> None:
    start_logging()
    assert levels.get("org.apache.kafka.connect.runtime.Worker") == {"level": "INFO", "last_modified": None}


def test_counterparts_are_modules() -> None:
    ours = {each for names in COUNTERPARTS.values() for each in names}
    assert [name for name in sorted(ours) if importlib.util.find_spec(name) is None] == []


OF_OUR_OWN = {
    *("penstock.connectors.postgres", "penstock.connectors.singer", "penstock.connectors.spark"),
    *("penstock.core.config", "penstock.observe", "penstock.pipeline.telemetry"),
}
"""Modules that log and whose only counterparts in Java are the topmost packages."""


def test_every_module_that_logs_has_a_counterpart() -> None:
    source = Path(penstock.__file__).parent
    logging_modules = {
        ".".join(("penstock", *path.relative_to(source).with_suffix("").parts))
        for path in source.rglob("*.py")
        if "getLogger(__name__)" in path.read_text()
    }
    covered = {each for names in COUNTERPARTS.values() for each in names} - {"penstock"}
    assert [
        module
        for module in sorted(logging_modules)
        if not any(f"{module}.".startswith(f"{name}.") for name in covered | OF_OUR_OWN)
    ] == []


def test_a_level_of_a_java_logger_is_sent_to_tasks_for_its_counterparts(levels: LogLevels) -> None:
    assert levels.for_tasks("org.apache.kafka.connect.runtime.WorkerSinkTask") == [
        "org.apache.kafka.connect.runtime.WorkerSinkTask",
        "penstock.pipeline.sink",
    ]
    assert levels.for_tasks("penstock.pipeline.sink.fetch") == ["penstock.pipeline.sink.fetch"]
    # The level of a parent logger replaces that of its children, as in the worker.
    assert {"penstock", "penstock.pipeline.sink.fetch"} <= set(levels.for_tasks("org.apache.kafka.connect"))
    assert "penstock.pipeline.sink.fetch" in levels.for_tasks("penstock.pipeline")
    assert {"root", "penstock"} <= set(levels.for_tasks("ROOT"))


def line(formatter: logging.Formatter, message: str = "all is %s", *args: object, **more: object) -> str:
    exc_info = more.pop("exc_info", None)
    record = logging.LogRecord("penstock.x", logging.WARNING, "x.py", 1, message, args or ("well",), exc_info)  # type: ignore[arg-type]
    record.__dict__.update(more)
    add_context(record)
    return formatter.format(record)


def test_text_lines_name_connector_and_task() -> None:
    with log_context("sink", 3):
        assert "] WARN [sink|task-3] all is well (penstock.x) [MainThread]" in line(TextLines())
    with log_context("sink"):
        assert "] WARN [sink] all is well (penstock.x)" in line(TextLines())
    assert "] WARN all is well (penstock.x)" in line(TextLines())


def test_json_lines_have_one_object_each() -> None:
    with log_context("sink", 0):
        got = json.loads(line(JsonLines()))
    assert got.pop("time").endswith("+00:00")
    assert got == {
        "level": "WARN",
        "logger": "penstock.x",
        "thread": "MainThread",
        "message": "all is well",
        "connector": "sink",
        "task": 0,
    }


def test_json_lines_of_a_task_name_the_trace_of_their_batch() -> None:
    ids = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "trace_flags": "01"}
    got = json.loads(line(JsonLines(), trace=ids))
    assert {name: got[name] for name in ids} == ids
    assert "trace_id" not in json.loads(line(JsonLines(), trace={}))


def test_a_line_may_say_itself_what_it_is_about() -> None:
    got = json.loads(line(JsonLines(), connector="other", task=None))
    assert (got["connector"], "task" in got) == ("other", False)


def test_json_lines_with_exceptions_and_strange_characters() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        text = line(JsonLines(), "half \ud800 %s", "x", exc_info=(ValueError, error, error.__traceback__))
    assert "\n" not in text
    got = json.loads(text)
    assert got["message"] == "half ? x"
    assert got["exception"].endswith("ValueError: two\nlines")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`penstock\.log\.format=xml` must be one of text, json"):
        start_logging(format="xml")


ODD = r"""
import logging
from penstock.observe import redact_by, start_logging

start_logging()
redact_by(lambda text: text.replace("secret", "[hidden]"))
logging.getLogger("x").error("a secret in %s", "caf\udce9-\u4f60")
"""


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "caf\\udce9-你"), ("latin-1", "caf\\udce9-\\u4f60")])
def test_a_line_with_characters_that_the_output_has_not_is_neither_lost_nor_shown_with_its_secrets(
    encoding: str, shown: str
) -> None:
    """Names of files may not be UTF-8, or be in a script that the output's Latin-1 lacks."""
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", ODD], env=env, capture_output=True, check=True)
    assert f"a [hidden] in {shown} (x)" in done.stdout.decode(encoding)
    assert done.stderr == b""
