"""The last log lines of a connector, in memory."""

from __future__ import annotations

import logging

from penstock.core.model.messages import GetLogs
from penstock.worker.monitoring.log_lines import LogLines


def test_a_plugin_may_have_levels_of_its_own() -> None:
    lines = LogLines("w", 10)
    for level in (logging.INFO, 25, logging.WARNING):
        record = logging.LogRecord("plugin", level, "p.py", 1, str(level), (), None)
        record.connector = "c"
        lines.handle(record)
    for least, shown in ((1, ["20", "25", "30"]), (25, ["25", "30"]), (logging.WARNING, ["30"])):
        found = lines.answer(GetLogs("c", least, None, 10))["lines"]
        assert [line["message"] for line in found] == shown
