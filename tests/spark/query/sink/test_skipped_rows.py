"""Records that the query of a SparkSink leaves out on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.model.skips import Skip
from penstock.core.model.tasks import SkipOver
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Sink, ids, make
from support.tasks.runs import STRING, new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def sink(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Sink]:
    return lambda **config: Sink(hosted, kafka, kafka.create_topic(), tmp_path / "table", **config)


def test_a_record_that_fails_goes_to_the_queue_and_the_rows_around_it_to_the_table(
    sink: Callable[..., Sink], kafka: Kafka
) -> None:
    queue = new_name("dlq")
    letters = {
        "errors_deadletterqueue_topic_name": queue,
        "errors_deadletterqueue_topic_replication_factor": "1",
        "errors_deadletterqueue_context_headers_enable": "true",
    }
    with sink(schema=COLUMNS, **letters) as one:
        one.produce(*make(0, 3))
        kafka.produce(one.topic, ["{broken"])
        one.produce(*make(4, 6))
        one.start()
        assert "Converting byte[] to Kafka Connect data failed" in one.failure()
        one.skips = (Skip(one.topic, 0, 3, 3, kafka.topic_id(one.topic), "dead-letters"),)
        one.start()
        assert one.until(SkipOver)[-1] == SkipOver(one.id, 2, one.skips[0])
        assert ids(one.wait(5)) == [0, 1, 2, 4, 5]
        assert one.committed()[0][0] == 6
    *_, letter = kafka.read_all(queue)  # behind those of the failure
    assert letter.value == b"{broken"
    headers = dict(letter.headers)
    assert headers["__connect.errors.offset"] == b"3"
    assert headers["__connect.errors.exception.message"] == b"The record was skipped by request"


def test_a_record_that_spark_writes_alone_is_discarded_and_a_renewed_topic_has_no_skips(
    sink: Callable[..., Sink], kafka: Kafka
) -> None:
    with sink(value_converter=STRING) as one:
        kafka.produce(one.topic, ["a", "b", "c"])
        first = Skip(one.topic, 0, 0, 1, kafka.topic_id(one.topic))
        other, other_end = (Skip(one.topic, 0, at, 2, "AAAAAAAAAAAAAAAAAAAAAQ") for at in (1, 2))
        one.skips = (other, first, other_end)
        one.start()
        assert {one.until(SkipOver)[-1].skip for _ in range(3)} == {*one.skips}
        assert [row["value"] for row in one.wait(1)] == ["c"]
