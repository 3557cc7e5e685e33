"""Names and sentences of Java's clients for what brokers answer."""

from __future__ import annotations

import confluent_kafka as ck
import pytest

from penstock.pipeline.broker_errors import broker_error

ERRORS = "org.apache.kafka.common.errors."


@pytest.mark.parametrize(
    ("code", "name", "message"),
    [
        (
            ck.KafkaError.MSG_SIZE_TOO_LARGE,
            ERRORS + "RecordTooLargeException",
            "The request included a message larger than the max message size the server will accept. (here)",
        ),
        (
            ck.KafkaError.INVALID_RECORD,
            "org.apache.kafka.common.InvalidRecordException",
            "One or more records have been rejected (here)",
        ),
        (
            ck.KafkaError.UNKNOWN_TOPIC_OR_PART,
            ERRORS + "UnknownTopicOrPartitionException",
            "This server does not host this topic-partition. (here)",
        ),
        (
            ck.KafkaError.TOPIC_EXCEPTION,
            ERRORS + "InvalidTopicException",
            "The request attempted to perform an operation on an invalid topic. (here)",
        ),
        (ck.KafkaError.INVALID_PARTITIONS, ERRORS + "InvalidPartitionsException", "told by the broker (here)"),
    ],
)
def test_errors_of_brokers(code: int, name: str, message: str) -> None:
    error = broker_error(ck.KafkaError(code, "told by the broker"), "here")
    assert (error.java_name, str(error)) == (name, message)
