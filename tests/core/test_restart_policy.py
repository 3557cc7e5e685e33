"""Schedule of ``penstock.restart.policy``, and errors that it does not retry; scenarios show the rest."""

from __future__ import annotations

import pytest

from penstock.core.restart_policy import MINUTE_MS, delay_ms, permanent_error

CONNECT = "org.apache.kafka.connect.errors.ConnectException"
TOPIC = "org.apache.kafka.common.errors.TopicAuthorizationException"


def test_the_schedule_equals_strimzis() -> None:
    assert [delay_ms(n) // MINUTE_MS for n in range(11)] == [0, 2, 6, 12, 20, 30, 42, 56, 60, 60, 60]


@pytest.mark.parametrize(
    ("trace", "error"),
    [
        ("org.apache.kafka.common.config.ConfigException: wrong\n\tat a", True),
        (f"{CONNECT}: Exiting\nCaused by: {TOPIC}: not you\n\tat a", f"{TOPIC}: not you"),
        (f"{CONNECT}: Exiting\n\tat a.b(C.java:1)\nCaused by: {TOPIC}\n\t... 2 more", TOPIC),
        (f"{CONNECT}: Failed to find any class that implements Connector and which name matches x, available", True),
        (f"{CONNECT}: org.x.A of /jars/a.jar can't be used: it is compiled for Java 99, and this is Java 17", True),
        ("ModuleNotFoundError: No module named 'x'", True),
        (f"{CONNECT}: the topic says {TOPIC}: not you", None),
        (f"{CONNECT}: Exiting\n{TOPIC}: a second line of the message", None),
        ("builtins.RuntimeError: broken", None),
        ("", None),
        (None, None),
    ],
)
def test_permanent_errors_are_recognized(trace: str | None, error: str | bool | None) -> None:
    found = permanent_error(trace)
    assert found == ((trace or "").splitlines()[0] if error is True else error)
