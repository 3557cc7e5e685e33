"""Secrets that a worker knows are in no log line, trace, status or metric."""

from __future__ import annotations

import json
import logging

from penstock import observe
from penstock.core.model.tasks import TaskFailed, TaskId, TaskMetrics
from penstock.settings.redaction import Redaction

CANARY = "canary-7f3a"


def learned() -> Redaction:
    redaction = Redaction()
    redaction.learn(
        {"connection.password": CANARY, "topic": "orders", "pin.secret": "12", "other.password": CANARY[:6]}
    )
    return redaction


def test_texts() -> None:
    clean = learned().clean
    assert clean(f"can't log in with {CANARY} to orders 12") == "can't log in with [hidden] to orders 12"


def test_events() -> None:
    redaction = learned()
    failed = TaskFailed(TaskId("x", 0), 1, f"java.sql.SQLException: {CANARY}\n\tat x")
    assert redaction.clean_event(failed).trace == "java.sql.SQLException: [hidden]\n\tat x"
    metrics = TaskMetrics(TaskId("x", 0), 1, {"a": 1.0, "penstock-last-error": CANARY})
    assert redaction.clean_event(metrics).values == {"a": 1.0, "penstock-last-error": "[hidden]"}
    plain = TaskFailed(TaskId("x", 0), 1, "nothing of it")
    assert redaction.clean_event(plain) is plain


def test_log_lines() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 1, "a %s", (CANARY,), None)
    try:
        raise ValueError(CANARY)
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    observe.redact_by(learned().clean)
    try:
        text, line = observe.TextLines().format(record), json.loads(observe.JsonLines().format(record))
    finally:
        observe.redact_by(lambda each: each)
    assert CANARY not in text + json.dumps(line)
    assert "a [hidden]" in text
    assert line["message"] == "a [hidden]"
