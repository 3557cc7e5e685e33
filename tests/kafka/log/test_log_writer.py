from __future__ import annotations

from typing import Any

import pytest

from penstock.kafka.log import writer
from penstock.kafka.log.writer import LogWriter


def test_records_keep_the_order_in_which_they_are_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    class Producer:
        def produce(self, topic: str, value: bytes, key: bytes, **more: Any) -> None:
            sent.append(value)
            if value == b"1":
                log.append([(b"k", b"3")], lambda ends, error: None)

    monkeypatch.setattr(writer, "new_producer", lambda *settings, **native: Producer())
    log = LogWriter("t", {})
    for value in (b"1", b"2"):
        log.append([(b"k", value)], lambda ends, error: None)
    log.open()
    assert sent == [b"1", b"2", b"3"]
