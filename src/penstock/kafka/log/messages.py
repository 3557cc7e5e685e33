"""What a consumer gives, with the types that it has."""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import KafkaError


class Placed(Protocol):
    """A record, or the news that a partition has no more (``enable.partition.eof``).

    Both have a place. The client's own types leave it open, for other errors and for messages that nobody has sent.
    """

    def error(self) -> KafkaError | None: ...
    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
