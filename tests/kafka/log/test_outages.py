from __future__ import annotations

import logging
import threading

import pytest
from confluent_kafka import KafkaError

from penstock.kafka.log.outages import Outage, Outages


@pytest.fixture
def told() -> list[str | None]:
    return []


def test_one_line_when_the_first_waits_and_one_when_all_have_resumed(
    told: list[str | None], caplog: pytest.LogCaptureFixture
):
    outages = Outages(told.append)
    first, second = (Outage(f"Reading topic `{name}`", threading.Event(), outages) for name in "ab")
    with caplog.at_level(logging.INFO):
        first.begin("no route")
        first.begin("no route at all")
        second.begin("no route")
        first.end()
        assert told == ["Reading topic `a` has to wait: no route. Retrying automatically."]
        second.end()
        second.end()
    assert told[1:] == [None]
    assert [record.getMessage() for record in caplog.records] == [told[0], "Reading topic `b` has resumed"]


def test_a_timeout_reports_the_client_s_last_error(told: list[str | None]):
    outage = Outage("Reading", threading.Event(), Outages(told.append))
    outage.heard(KafkaError(KafkaError._TRANSPORT, "Connection refused"))
    assert told == []
    outage.heard(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert told == ["Reading has to wait: Connection refused. Retrying automatically."]


def test_the_first_failures_are_nothing_to_speak_of(told: list[str | None]):
    closing = threading.Event()
    closing.set()  # no waiting
    outage, attempt = Outage("Reading", closing, Outages(told.append)), 0
    for _ in range(4):
        attempt = outage.pause(attempt, "why")
    assert told == []
    assert outage.pause(attempt, "why") == 5
    assert told == ["Reading has to wait: why. Retrying automatically."]
    outage.end(resumed=False)
    assert told[1:] == [None]
