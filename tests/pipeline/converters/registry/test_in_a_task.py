"""The converters as a task uses them: found by the names of existing configurations, one step of its pipeline."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.api.record import Header
from penstock.api.schema import INT64, STRING, struct
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.plugins.registry import Plugins
from pipeline.converters.registry.registry_double import RegistryDouble, failure

pytest.importorskip("fastavro")

SCHEMA = struct(("id", INT64), ("name", STRING), name="org.example.User")
FORMATS = {
    "avro": "io.confluent.connect.avro.AvroConverter",
    "json": "io.confluent.connect.json.JsonSchemaConverter",
    "protobuf": "io.confluent.connect.protobuf.ProtobufConverter",
}
PLUGINS = Plugins.discover()
HEADERS = "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"


def conversion(double: RegistryDouble, kind: str, **more: str) -> Conversion:
    config = {
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": FORMATS[kind],
        "value.converter.schema.registry.url": double.url,
        "value.converter.max.retries": "0",
        "value.converter.retries.wait.ms": "1",
        **{f"value.converter.{name.replace('_', '.')}": value for name, value in more.items()},
    }
    return Conversion.build(config, {}, PLUGINS.resolve)


def sent(double: RegistryDouble, kind: str, values: list[Any], **more: str) -> Batch:
    batch = Batch.of("t", values, value_schema=SCHEMA, keys=["k"] * len(values), key_schema=STRING)
    for step in conversion(double, kind, **more).from_connect():
        batch = step.apply(batch)
    return batch


def consumed(values: list[bytes], headers: list[tuple[Header, ...]] | None = None) -> Batch:
    n = len(values)
    origin = SinkOrigin(["t"] * n, [0] * n, list(range(n)), ["CreateTime"] * n)
    return Batch.of("t", values, keys=[b"k"] * n, headers=headers, origin=origin)


class Handling:
    def __init__(self, **config: str) -> None:
        self.failures: list[RecordFailure] = []
        self.slept: list[float] = []
        settings = ErrorSettings.of({name.replace("_", "."): value for name, value in config.items()})
        metrics = Metrics(lambda values: None, ())
        self.handler = ErrorHandler(settings, metrics, self._sleep, (self.failures.append,))

    def _sleep(self, seconds: float) -> bool:
        self.slept.append(seconds)
        return False


ROWS = [{"id": i, "name": str(i)} for i in range(5)]


@pytest.mark.parametrize("kind", FORMATS)
def test_there_and_back(double, kind):
    batch = sent(double, kind, ROWS)
    back = Handling().handler.run(conversion(double, kind).to_connect(), consumed(batch.values))
    assert back.values == ROWS
    assert back.value_schemas[0].version == 1


@pytest.mark.parametrize("kind", FORMATS)
def test_there_and_back_with_the_id_in_headers(double, kind):
    batch = sent(double, kind, ROWS, value_schema_id_serializer=HEADERS)
    raw: Any = [tuple((header.key, header.value) for header in row) for row in batch.headers]
    back = Handling().handler.run(conversion(double, kind).to_connect()[:2], consumed(batch.values, raw))
    assert back.values == ROWS


@pytest.mark.parametrize("kind", FORMATS)
def test_undecodable_records_are_reported_byte_for_byte_and_the_others_go_on(double, kind):
    good = sent(double, kind, ROWS).values
    bad = [b"", b"no frame", b"\0\0\0\0\x63\0xyz", good[0][:7]]
    handling = Handling(errors_tolerance="all")
    mixed = [item for pair in zip(good[:4], bad, strict=True) for item in pair]
    back = handling.handler.run(conversion(double, kind).to_connect(), consumed(mixed))
    assert back.values == ROWS[:4]
    assert [failed.record.values[0] for failed in handling.failures] == bad


def test_a_registry_that_comes_back_in_time_costs_nothing_but_time(double):
    good = sent(double, "avro", ROWS).values
    double.fail(failure(503, 50003, "down", times=3))
    handling = Handling(errors_retry_timeout="60000", errors_retry_delay_max_ms="1")
    back = handling.handler.run(conversion(double, "avro").to_connect(), consumed(good))
    assert back.values == ROWS
    assert handling.failures == []


@pytest.mark.parametrize("records", [1, 5])
def test_no_record_is_given_up_without_asking_the_registry_for_it(double, records):
    good = sent(double, "avro", ROWS[:records]).values
    double.fail(failure(503, 50003, "down", times=1))
    handling = Handling(errors_tolerance="all")
    steps = conversion(double, "avro", retries_wait_ms="200").to_connect()
    back = handling.handler.run(steps, consumed(good))
    # The first attempt was for the whole batch.
    assert (len(back), len(handling.failures)) == ((0, 1) if records == 1 else (records, 0))
    back = handling.handler.run(steps, consumed(good[:1]))
    assert back.values == ROWS[:1]


def test_a_registry_that_stays_away_ends_the_task_with_its_words(double):
    good = sent(double, "avro", ROWS).values
    double.fail(failure(503, 50003, "down for good"))
    with pytest.raises(ConnectError) as caught:
        Handling().handler.run(conversion(double, "avro").to_connect(), consumed(good))
    assert "down for good" in str(caught.value.__cause__)
    assert "id 1 of subject t-value" in str(caught.value.__cause__)
