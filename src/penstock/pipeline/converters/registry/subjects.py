"""Subjects: under which name a registry keeps the schemas of keys or values. Java: ``SubjectNameStrategy``."""

from __future__ import annotations

from penstock.api.errors import SerializationError

_PACKAGE = "io.confluent.kafka.serializers.subject."
TOPIC, RECORD, TOPIC_RECORD = (
    _PACKAGE + name for name in ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
)
STRATEGIES = (TOPIC, RECORD, TOPIC_RECORD)


def subject(strategy: str, topic: str, is_key: bool, record: str | None) -> str:
    """The subject; ``record`` is the full name of the schema, None if it has none.

    Raises SerializationError if the strategy needs the name and there is none.
    """
    if strategy == TOPIC:
        return f"{topic}-{'key' if is_key else 'value'}"
    if record is None:
        what = "key" if is_key else "value"
        raise SerializationError(
            f"In configuration {what}.subject.name.strategy = {strategy}, the message {what} must only be a record "
            "schema"
        )
    return record if strategy == RECORD else f"{topic}-{record}"
