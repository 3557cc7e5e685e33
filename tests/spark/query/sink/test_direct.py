"""Texts and bytes that Spark writes without a Python process: the same rows and figures as by way of one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.core.model.tasks import TopicSeen
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters import StringConverter
from penstock.spark.query.sink.direct import direct_value, goes_direct
from support.kafka.client import Kafka, Record
from support.spark import delta
from support.spark.host import Hosted
from support.spark.queries import Sink
from support.tasks.runs import JSON, STRING, resolve

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
TEXTS = {"key.converter": STRING, "value.converter": STRING}
BY_PYTHON = {**TEXTS, "transforms": "same", "transforms.same.type": "org.apache.kafka.connect.transforms.Filter"}
BY_PYTHON |= {"transforms.same.predicate": "never", "predicates": "never", "predicates.never.pattern": "no such topic"}
BY_PYTHON |= {"predicates.never.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"}
"""Texts by way of Python, of whose records none is left out."""


@pytest.mark.parametrize(
    ("config", "direct"),
    [
        (TEXTS, True),
        ({**TEXTS, "key.converter": BYTES, "value.converter": BYTES}, True),
        ({**TEXTS, "header.converter": STRING}, True),
        ({**TEXTS, "key.converter.converter.encoding": "UTF-16"}, True),
        ({**TEXTS, "value.converter.converter.encoding": "ISO-8859-1"}, False),
        ({**TEXTS, "value.converter": JSON}, False),
        ({**TEXTS, "key.converter": JSON}, False),
        ({**TEXTS, "header.converter": JSON}, False),
        (BY_PYTHON, False),
    ],
)
def test_values_that_can_fail_or_are_changed_take_python(config: dict[str, str], direct: bool) -> None:
    value = direct_value(Conversion.build(config, {}, resolve), Chain.build(config, resolve))
    assert (value is not None) == direct


@pytest.mark.parametrize(
    ("more", "direct"),
    [
        ({"path": "/t"}, True),
        ({"path": "/t", "format": "text"}, True),
        ({"path": "/t", "format": "delta"}, True),
        ({"table": "t", "format": "delta"}, False),
        ({"table": "t"}, False),
        ({"path": "/t", "mode": "overwrite"}, False),
        ({"path": "/t", "sql": "SELECT value FROM records"}, False),
        ({"path": "/t", "schema": "value STRING"}, False),
        ({"format": "jdbc", "option.dbtable": "t"}, False),
        ({"path": "/t", "format": "delta", "insert.mode": "upsert", "pk.fields": "id"}, False),
    ],
)
def test_rows_are_added_as_they_are_and_only_where_a_batch_is_refused_twice(more: dict[str, str], direct: bool) -> None:
    assert goes_direct(SinkSettings.of(more)) == direct


TORN = (
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\xed\xa0\xbd\xed\xb8\x80",  # a pair, each half by itself
    b"\xed\xa0",
    b"\xe0\x80\x80",  # longer than need be
    b"\xc0\x80",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",  # beyond Unicode
    b"\xf8\x88\x80\x80\x80",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xff",
)


def torn(count: int) -> list[bytes]:
    """Texts of UTF-8 with bytes missing, too many, or others in their place."""
    chance, found = random.Random(3), [b"a" + each + b"z" for each in TORN] + list(TORN)
    while len(found) < count:
        text = bytearray("".join(chance.choice("aé€😀\0\uffff") for _ in range(6)).encode())
        for _ in range(chance.randrange(4)):
            place = chance.randrange(len(text))
            text[place : place + chance.randrange(2)] = chance.choice((bytes([chance.randrange(256)]), *TORN))
        found.append(bytes(text))
    return found


def written(one: Sink, *records: Record | bytes | None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Write these records; return the rows and the task's metrics when all have been read."""
    one.kafka.produce(one.topic, records)
    one.start()
    values = [each.value if isinstance(each, Record) else each for each in records]
    rows = one.wait(count) if (count := len(values) - values.count(None)) else []
    assert one.until(TopicSeen)[-1] == TopicSeen(one.id, 1, one.topic)
    figures = one.figures(lambda values: values.get("sink-record-read-total") == len(records))
    one.stop()
    return rows, figures


def by_python(figures: dict[str, Any]) -> bool:
    """Return whether rows were made in Python: only then converters are called."""
    return bool(figures.get("penstock-stage-convert-seconds-total"))


@pytest.mark.integration
@pytest.mark.slow
def test_texts_are_those_of_the_converter(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    values = torn(2000)
    _, expected = StringConverter().to_connect_batch([], [()] * len(values), list(values))
    assert sum("\ufffd" in text for text in expected) > 500
    with Sink(hosted, kafka, kafka.create_topic(partitions=2), tmp_path / "table", **TEXTS) as one:
        rows, figures = written(one, *values)
    assert sorted(row["value"] for row in rows) == sorted(expected)
    assert not by_python(figures)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_rows_and_figures_are_those_of_python(spark: Hosted, kafka: Kafka, tmp_path: Path, format: str) -> None:
    records = [Record(f"v{i}" if i % 10 else None, f"k{i}", headers=(("h", b"1"),)) for i in range(50)]
    sink = delta.DeltaSink if format == "delta" else Sink
    found = {}
    for name, config in (("direct", TEXTS), ("python", BY_PYTHON)):
        with sink(spark, kafka, kafka.create_topic(), tmp_path / name, format=format, **config) as one:
            rows, figures = written(one, *records)
            assert by_python(figures) == (name == "python")
            counts = [figures[f"sink-record-{each}-total"] for each in ("read", "send")]
            found[name] = (sorted(row["value"] for row in rows), {tuple(row) for row in rows}, counts)
    assert found["direct"] == found["python"]
    assert found["direct"][2] == [50, 45]


@pytest.mark.integration
@pytest.mark.slow
def test_byte_array_values_are_written_unchanged(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    config = {"key.converter": BYTES, "value.converter": BYTES}
    with Sink(hosted, kafka, kafka.create_topic(), tmp_path / "table", **config) as one:
        rows, figures = written(one, b"\xff\x00", None, b"")
    assert sorted(row["value"] for row in rows) == [b"", b"\xff\x00"]
    assert figures["sink-record-send-total"] == 2
    assert not by_python(figures)


@pytest.mark.integration
@pytest.mark.slow
def test_records_without_values_leave_the_table_alone(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    with Sink(hosted, kafka, kafka.create_topic(), tmp_path / "table", **TEXTS) as one:
        rows, figures = written(one, None, None)
        assert rows == []
        assert figures["sink-record-send-total"] == 0
        assert list(one.folder.glob("*.parquet")) == []


@pytest.mark.integration
@pytest.mark.slow
def test_a_column_that_the_table_must_not_get_fails_the_task(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": [1]}), (tmp_path / "there.parquet"))
    with Sink(hosted, kafka, kafka.create_topic(), tmp_path, schema_evolution="fail", **TEXTS) as one:
        kafka.produce(one.topic, ["a"])
        one.start()
        assert "value: not among the columns of" in one.failure()


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_a_batch_that_was_begun_is_written_once(spark: Hosted, kafka: Kafka, tmp_path: Path, format: str) -> None:
    """The group stands as it does when a run is killed within a batch: first when it was in the table, then before."""
    sink = delta.DeltaSink if format == "delta" else Sink
    with sink(
        spark, kafka, kafka.create_topic(), tmp_path / "table", format=format, batch_max_records="10", **TEXTS
    ) as one:
        kafka.produce(one.topic, [f"v{i}" for i in range(30)])
        one.start()
        one.wait(30)
        one.written(30)
        one.stop()
        one.left_in_batch(20, 30)
        kafka.produce(one.topic, [f"v{i}" for i in range(30, 45)])
        one.start()
        assert sorted(row["value"] for row in one.wait(45)) == sorted(f"v{i}" for i in range(45))
        one.figures(lambda values: values.get("sink-record-read-total") == 15)
        one.written(45)
        one.stop()
        kafka.produce(one.topic, [f"v{i}" for i in range(45, 50)])
        one.left_in_batch(45, 50, next=True)
        one.start()
        assert sorted(row["value"] for row in one.wait(50)) == sorted(f"v{i}" for i in range(50))
        assert not by_python(one.figures(lambda values: values.get("sink-record-read-total") == 5))
