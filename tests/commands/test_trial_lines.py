"""Lines that ``penstock run`` can't send: it says so, and does not wait for them for ever."""

from __future__ import annotations

import io
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.trial import topics
from penstock.trial.topics import Lines


class Refusing:
    """A producer that takes no line."""

    def produce(self, *_: Any, **__: Any) -> None:
        raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("given", "why"),
    [(b"long\n", "Message size too large"), (b"caf\xe9\n", "it is not UTF-8 ")],
)
def test_a_line_that_cannot_be_sent_is_a_failure(monkeypatch: pytest.MonkeyPatch, given: bytes, why: str) -> None:
    monkeypatch.setattr(topics, "new_producer", lambda _: Refusing())
    lines = Lines("none:9092", "t", io.StringIO())
    lines._send(io.TextIOWrapper(io.BytesIO(given), "utf-8"))
    assert lines.failure is not None
    assert lines.failure.startswith("A line can't be sent to topic t: ")
    assert why in lines.failure
