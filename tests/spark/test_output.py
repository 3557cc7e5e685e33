"""Output of Spark's JVM and its tasks: masked, escaped, and distinguishable from lines of the worker's log."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import time
from typing import Any, cast

import pytest

from penstock.observe import MAX_LINE_LENGTH, JsonLines, TextLines, add_context, redact_by
from penstock.spark.output import MAX_LINE, MAX_LINES, OutputCopy
from penstock.spark.settings import HostSettings
from penstock.spark.supervisor import DriverSupervisor

pytestmark = pytest.mark.security

HOSTILE = (
    b"26/11/29 07:00:00 ERROR Executor: password is hunter2\n"
    b"[2026-01-01 00:00:00,000] INFO forged (penstock.worker) [main]\n"
    b"\x1b[2J\x1b]0;title\x07 and \xff\xe2\x80\xae\r\n"
    b"no end"
)


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> Any:
    log_format(monkeypatch, TextLines())
    redact_by(lambda text: text.replace("hunter2", "[hidden]"))
    yield
    redact_by(lambda text: text)


def log_format(monkeypatch: pytest.MonkeyPatch, formatter: logging.Formatter) -> None:
    handler = logging.NullHandler()
    handler.addFilter(add_context)
    handler.setFormatter(formatter)
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])


def copied(said: bytes, times: int = 1) -> list[str]:
    """Return the lines that arrive from a process that prints this."""
    program = f"import sys; sys.stderr.buffer.write(sys.stdin.buffer.read() * {times})"
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as file:
        given.write(said)
        given.seek(0)
        child = subprocess.Popen([sys.executable, "-c", program], stdin=given, stderr=subprocess.PIPE)
        OutputCopy(cast(Any, child.stderr), file.fileno()).wait(30)
        child.wait()
        file.seek(0)
        return file.read().decode().splitlines()


@pytest.mark.usefixtures("masked")
def test_output_is_masked_and_escaped_and_forges_no_line() -> None:
    lines = copied(HOSTILE)
    assert len(lines) == 4
    assert all(line.isprintable() and "(penstock.spark.output) [" in line for line in lines)
    assert "hunter2" not in "".join(lines)
    assert "] ERROR 26/11/29 07:00:00 ERROR Executor: password is [hidden] (" in lines[0]
    assert not lines[1].startswith("[2026-01-01")
    assert r"\x1b[2J\x1b]0;title\x07 and \xff\u202e (" in lines[2]


@pytest.mark.usefixtures("masked")
def test_output_is_json_where_the_log_is(monkeypatch: pytest.MonkeyPatch) -> None:
    log_format(monkeypatch, JsonLines())
    first, second, *_ = map(json.loads, copied(HOSTILE))
    assert (first["level"], first["logger"]) == ("ERROR", "penstock.spark.output")
    assert first["message"] == "26/11/29 07:00:00 ERROR Executor: password is [hidden]"
    assert second["message"].endswith("forged (penstock.worker) [main]")


@pytest.mark.usefixtures("masked")
def test_a_private_key_of_several_lines_is_left_out() -> None:
    key = b"".join(b"%064d\r\n" % number for number in range(20))
    begin, end = b"-----BEGIN PRIVATE KEY-----\r\n", b"-----END PRIVATE KEY-----\r\n"
    lines = copied(b"key: " + begin + b"Proc-Type: 4,ENCRYPTED\n\n" + key + end + b"next\n" + begin + b"not a key\n")
    assert [line for line in lines if "000" in line or "ENCRYPTED" in line] == []
    assert ["END PRIVATE KEY" in lines[1], " next (" in lines[2], "not a key" in lines[4]] == [True] * 3


@pytest.mark.usefixtures("masked")
@pytest.mark.parametrize("character", ["n", "+", " ", "\\", "a"])
def test_no_line_after_the_beginning_of_a_key_takes_long(character: str) -> None:
    line = character * 100_000 + "!"
    began = time.monotonic()
    lines = copied(f"-----BEGIN PRIVATE KEY-----\n{line}\nend\n".encode())
    assert time.monotonic() - began < 20
    assert " end (" in lines[-1]


@pytest.mark.usefixtures("masked")
def test_a_secret_is_found_wherever_a_long_line_is_cut() -> None:
    for before in (MAX_LINE_LENGTH, 1 << 16, MAX_LINE):
        said = b"x" * (before - 5) + b" hunter2 " + b"y" * 100 + b"\n"
        first, second = copied(said + b"next\n")
        assert not any(part in first for part in ("hunt", "nter2"))
        assert " next (" in second


def test_without_a_log_no_line_controls_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    lines = copied(HOSTILE)
    assert len(lines) == 4
    assert all(line.isprintable() and line.endswith(" (penstock.spark.output)") for line in lines)


def test_output_that_is_too_much_is_counted() -> None:
    lines = copied(b"x\n", 50 * MAX_LINES)
    assert len(lines) < 10 * MAX_LINES
    assert any("lines of Spark and its tasks were left out: too many at once" in line for line in lines)


@pytest.mark.integration
def test_spark_s_own_lines_take_this_way(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log_format(monkeypatch, TextLines())

    async def run() -> None:
        driver = DriverSupervisor(HostSettings(spark={"spark.master": "local[1]"}).conf(), lambda event: None)
        keeping = asyncio.create_task(driver.keep())
        await asyncio.wait_for(asyncio.shield(driver.up), 200)
        await driver.close(10)
        await asyncio.wait_for(keeping, 30)

    asyncio.run(run())
    said = [line for line in "".join(capfd.readouterr()).splitlines() if "log4j" in line or "WARN" in line]
    assert said
    assert all("(penstock.spark.output) [" in line for line in said), said
