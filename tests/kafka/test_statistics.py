"""Clients that have lost their brokers, as their statistics show it."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer

from penstock.kafka.statistics import LOST_REPORTS, ClientStatistics
from support.kafka.lost import CONSUMER, PRODUCER
from support.waiting import SECONDS, until


@pytest.mark.parametrize("text", [PRODUCER, CONSUMER], ids=["producer", "consumer"])
def test_a_client_is_lost_after_several_reports_without_a_broker(text: str) -> None:
    statistics = ClientStatistics("producer", "p")
    for _ in range(LOST_REPORTS - 1):
        statistics(text)
        assert not statistics.lost
    statistics(text)
    assert statistics.lost


def test_reports_that_do_not_follow_each_other_are_not_added_up() -> None:
    statistics = ClientStatistics("producer", "p")
    for _ in range(LOST_REPORTS):
        statistics(PRODUCER)
        statistics('{ "brokers":{ "127.0.0.1:1/bootstrap": { "nodeid":-1, "source":"configured", "state":"INIT" } } }')
    assert not statistics.lost


@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_a_client_that_reaches_no_broker_is_not_lost(kind: str) -> None:
    statistics, reports = ClientStatistics(kind, "c"), 0

    def heard(text: str) -> None:
        nonlocal reports
        statistics(text)
        reports += 1

    settings = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "statistics.interval.ms": 50, "stats_cb": heard}
    client = Producer(settings) if kind == "producer" else Consumer({**settings, "group.id": "g"})

    def enough() -> bool:
        client.poll(0.05)
        return reports > LOST_REPORTS

    until(enough, "reports", SECONDS)
    assert '"brokers"' in statistics.text
    assert not statistics.lost
