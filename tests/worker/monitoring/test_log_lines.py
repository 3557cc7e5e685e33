"""The last log lines of a connector, in memory."""

from __future__ import annotations

import logging

import pytest

from penstock.core.model.local_requests import GetLogs
from penstock.observe import redact_by, start_logging
from penstock.worker.monitoring.log_lines import LogLines
from support.log_levels import levels_kept


def test_a_plugin_may_have_levels_of_its_own() -> None:
    lines = LogLines("w", 10)
    for level in (logging.INFO, 25, logging.WARNING):
        record = logging.LogRecord("plugin", level, "p.py", 1, str(level), (), None)
        record.connector = "c"
        lines.handle(record)
    for least, shown in ((1, ["20", "25", "30"]), (25, ["25", "30"]), (logging.WARNING, ["30"])):
        found = lines.answer(GetLogs("c", least, None, 10))["lines"]
        assert [line["message"] for line in found] == shown


def test_arguments_that_do_not_fit_are_shown_masked_and_fail_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    lines, logger = LogLines("w", 10), logging.getLogger("plugin.wrong")
    with levels_kept():
        start_logging()
        redact_by(lambda text: text.replace("secret", "[hidden]"))
        lines.start()
        try:
            logger.info("%d records of %s", "no", "secret", extra={"connector": "c"})
        finally:
            lines.close()
            redact_by(lambda text: text)
    (line,) = lines.answer(GetLogs("c", 1, None, 10))["lines"]
    assert line["message"].startswith("%d records of %s ('no', '[hidden]') (%d format: ")
    assert "secret" not in "".join(capfd.readouterr())
