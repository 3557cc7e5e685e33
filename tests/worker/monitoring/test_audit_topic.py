"""The audit log in a topic."""

from __future__ import annotations

import json
import logging
from uuid import uuid4

import pytest

from penstock.http.access import audit
from penstock.http.access.authentication.principals import Principal
from penstock.worker.monitoring import log_lines
from penstock.worker.monitoring.log_lines import AuditTopic
from support.kafka.client import Kafka
from support.kafka.lost import reporting_no_broker
from support.waiting import SECONDS, until

pytestmark = pytest.mark.integration


def test_lines_are_sent_to_the_topic(
    kafka: Kafka, bootstrap: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "FLUSH_S", 60.0)
    topic = f"audit-{uuid4().hex}"
    kafka.create_topic(topic)
    caplog.set_level(logging.INFO, audit.LOGGER)
    sent = AuditTopic({"bootstrap.servers": bootstrap}, topic)
    try:
        audit.write(Principal("carl", how="basic", address="1.2.3.4"), "PUT /x", 403, action="configure", connector="x")
        audit.write(Principal(), "DELETE /x", 204)
    finally:
        sent.close()
    audit.write(Principal("late"), "PUT /x", 200)
    found = kafka.read_all(topic)
    assert [record.key for record in found] == [b"carl", None]
    first = json.loads(found[0].value)
    assert (first["principal"], first["connector"], first["outcome"]) == ("carl", "x", "refused")


def test_a_producer_that_has_lost_its_brokers_is_replaced_and_its_lines_are_sent(
    kafka: Kafka, bootstrap: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "FLUSH_S", 60.0)
    topic = kafka.create_topic()
    caplog.set_level(logging.INFO, audit.LOGGER)
    sent = AuditTopic({"bootstrap.servers": "127.0.0.1:1"}, topic)
    sent._settings = {**sent._settings, "bootstrap.servers": bootstrap}
    try:
        for number in range(100):
            audit.write(Principal("carl"), f"PUT /{number}", 200)

        def replaced() -> bool:
            sent.serve()
            return "has lost all its brokers; replacing it" in caplog.text

        until(reporting_no_broker(replaced, sent._statistics), "another producer", SECONDS)
        audit.write(Principal("carl"), "PUT /100", 200)
    finally:
        sent.close()
    assert [json.loads(line.value)["request"] for line in kafka.read_all(topic)] == [f"PUT /{n}" for n in range(101)]
