"""Lines of the audit log that can't be sent to its topic."""

from __future__ import annotations

import logging

import pytest

from penstock.http.access import audit
from penstock.http.access.authentication.principals import Principal
from penstock.worker.monitoring import log_lines


def test_a_line_that_the_producer_refuses_fails_no_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, audit.LOGGER)
    sent = log_lines.AuditTopic({"bootstrap.servers": "127.0.0.1:1"}, "t")
    try:
        audit.write(Principal("carl"), "PUT /x", 200, difference={"added": {"much": "x" * 1_100_000}})
    finally:
        sent.close()
    told = next(record.getMessage() for record in caplog.records if record.name == log_lines.__name__)
    assert told.startswith("A line of the audit log could not be sent to topic t: ")
    assert "Message size too large" in told
