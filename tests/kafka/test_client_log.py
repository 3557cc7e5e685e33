from __future__ import annotations

import logging

import pytest

from penstock.kafka.client_log import RepeatedFailures

REFUSED = "%s [%s#consumer-1] [thrd:localhost:1/bootstrap]: localhost:1/bootstrap: Connect failed: Connection refused"


@pytest.fixture
def passes() -> RepeatedFailures:
    return RepeatedFailures()


def record(facility: str, client: str) -> logging.LogRecord:
    return logging.LogRecord("x", logging.ERROR, "", 0, REFUSED, (facility, client), None)


def test_a_repeated_failure_is_logged_once_for_each_client(passes: RepeatedFailures):
    told = [passes.filter(record("FAIL", client)) for client in ("a", "a", "b", "a", "b")]
    assert told == [True, False, True, False, False]


def test_everything_else_is_told(passes: RepeatedFailures):
    assert [passes.filter(record("GETPID", "a")) for _ in range(2)] == [True, True]


def test_old_clients_are_forgotten(passes: RepeatedFailures):
    assert all(passes.filter(record("FAIL", str(number))) for number in range(1001))
    assert passes.filter(record("FAIL", "0"))
