"""Names, messages and traces control no terminal and forge no line: in the log, and in what commands print."""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import Any

import pytest

from penstock.commands._output import compact, print_json, print_table, say, say_indented
from penstock.core.model.tasks import TaskId
from penstock.http.client import Client
from penstock.observe import JsonLines, TextLines, add_context, log_context, one_line
from support.rest.cluster import RestCluster

pytestmark = pytest.mark.security
FORGED = "[2026-01-01 00:00:00,000] ERROR all is lost (penstock.worker) [MainThread]"
CONTROLS = (
    "\x00\x07\x08\x0b\x0c\x1b[2J\x1b]0;owned\x07\x7f\x84\x85\x9b31m\x9d\u2028\u2029\u202e\u2066\u200f\ufeff\U000e0041"
)
HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200f\ufeff\U000e0041]")
HOSTILE = f"x\r\n{FORGED}\n{CONTROLS}"


def record(message: str = HOSTILE, name: str = "plugin", error: Exception | None = None) -> logging.LogRecord:
    exc_info: Any = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord(name, logging.WARNING, "x.py", 1, "%s", (message,), exc_info)
    made.threadName = HOSTILE
    add_context(made)
    return made


def raised(message: str) -> Exception:
    try:
        raise ValueError(message)
    except ValueError as error:
        return error


@pytest.mark.parametrize("error", [None, HOSTILE])
def test_a_record_of_the_log_looks_like_one(error: str | None) -> None:
    with log_context(HOSTILE, 0):
        written = TextLines().format(record(name=HOSTILE, error=None if error is None else raised(error)))
    assert not HARMFUL.search(written)
    first, *others = written.split("\n")
    assert re.match(r"\[\d{4}-\d\d-\d\d ", first)
    assert others
    assert all(line.startswith("    ") for line in others)


def test_a_trace_stays_readable() -> None:
    written = TextLines().format(record("bad", error=raised("one\ntwo")))
    lines = written.split("\n")
    assert lines[1] == "    Traceback (most recent call last):"
    assert re.fullmatch(r'      File ".*", line \d+, in raised', lines[2])
    assert lines[-2:] == ["    ValueError: one", "    two"]
    java = TextLines().format(record("java.lang.Error: x\r\n\tat a.B.c(B.java:1)"))
    assert "java.lang.Error: x\n    \tat a.B.c(B.java:1) (plugin)" in java


def test_ordinary_lines_are_as_they_were() -> None:
    written = TextLines().format(record("grün 東京 🙂 a\tb \\n"))
    assert " WARNING " in written or " WARN " in written
    assert "grün 東京 🙂 a\tb \\n (plugin)" in written


def test_a_line_of_json_has_neither_controls_nor_other_lines() -> None:
    written = JsonLines().format(record(name=HOSTILE, error=raised(HOSTILE)))
    assert not HARMFUL.search(written)
    assert "\n" not in written
    read = json.loads(written)
    assert (read["message"], read["logger"], read["thread"]) == (HOSTILE, HOSTILE, HOSTILE)
    assert read["exception"].endswith(f"ValueError: {HOSTILE}")


def test_output_of_commands_controls_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"Connector {HOSTILE} is RUNNING.")
    assert len(capsys.readouterr().out.splitlines()) == 1
    print_table(("NAME", HOSTILE), [(HOSTILE, "x")])
    out = capsys.readouterr().out
    assert not HARMFUL.search(out)
    assert len(out.splitlines()) == 2
    say_indented(f"at once {HOSTILE}")
    _, *others = capsys.readouterr().out.splitlines()
    assert all(line.startswith("    ") for line in others)
    print_json({"name": HOSTILE})
    out = capsys.readouterr().out
    assert not HARMFUL.search(out)
    assert json.loads(out) == {"name": HOSTILE}
    assert json.loads(compact(HOSTILE)) == HOSTILE
    assert len(compact(HOSTILE).splitlines()) == 1


@pytest.mark.usefixtures("source")
def test_status_and_logs_of_a_hostile_plugin(penstock: Any, worker: Client, cluster: RestCluster) -> None:
    line = record()
    line.created, line.connector, line.task = 1767323045.0, "orders", None
    cluster.log_lines["one"].handle(line)
    cluster.fail(TaskId("orders", 0), HOSTILE)
    for command in (("logs", "orders"), ("status", "orders"), ("get", "status", "orders"), ("history", "orders")):
        said = penstock(*command)
        shown = said.stdout + said.stderr
        assert not HARMFUL.search(shown), command
        assert [line for line in shown.split("\n") if line.startswith("[2026")] == []
    assert "    [2026-01-01" in penstock("logs", "orders").stdout


def test_errors_of_a_worker_are_one_text(penstock: Any) -> None:
    said = penstock("status", HOSTILE.replace("[", "("))
    assert said.exit_code != 0
    assert not HARMFUL.search(said.stderr)
    assert [line for line in said.stderr.split("\n") if line.startswith("(2026")] == []


def test_a_line_costs_little() -> None:
    """A usual line is looked at once, and no expression is applied to it."""
    text = "records are sent " * 10
    assert one_line(text) is text
    assert sys.getrefcount(text) > 1


def test_lines_of_sparks_driver() -> None:
    """These lines are on the worker's standard error, and no worker has cleaned them."""
    from penstock.spark.driver.driver import _DriverLines

    formatter = _DriverLines("%(levelname)s %(message)s")
    written = formatter.format(record(f"{HOSTILE} Password = canary;"))
    assert "canary" not in written
    _, *others = written.split("\n")
    assert all(line.startswith("    ") for line in others)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", written)
