"""Previews of a configuration's effect on real records, record by record and step by step."""

from __future__ import annotations

import base64
import resource
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import Table
from penstock.api.schema import INT64, TIMESTAMP, decimal, struct
from penstock.core.model.messages import Refused
from penstock.hosts.python.wire import whole, write
from penstock.preview import run
from penstock.preview.messages import PreviewRequest, plain
from penstock.preview.process import Previews
from pipeline.converters.registry.registry_double import failure, running_double
from support.kafka.client import Kafka, Record

TRANSFORMS = "org.apache.kafka.connect.transforms"
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
CHAIN = {
    "transforms": "wrap,stamp,drop",
    "transforms.wrap.type": f"{TRANSFORMS}.HoistField$Value",
    "transforms.wrap.field": "line",
    "transforms.stamp.type": f"{TRANSFORMS}.InsertField$Value",
    "transforms.stamp.static.field": "by",
    "transforms.stamp.static.value": "me",
    "transforms.stamp.predicate": "never",
    "transforms.drop.type": f"{TRANSFORMS}.Filter",
    "transforms.drop.predicate": "never",
    "transforms.drop.negate": "false",
    "predicates": "never",
    "predicates.never.type": f"{TRANSFORMS}.predicates.TopicNameMatches",
    "predicates.never.pattern": "nothing",
}


def preview(request: PreviewRequest) -> dict[str, Any]:
    """Return the answer as the REST API shows it."""
    return plain(run.preview(request))


def of_file(folder: Path, **settings: Any) -> PreviewRequest:
    (folder / "in.txt").write_text("one\ntwo\nthree\n")
    connector = {
        "name": "c",
        "connector.class": "FileStreamSource",
        "file": str(folder / "in.txt"),
        "topic": "t",
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    return PreviewRequest(
        connector=connector, worker={"key.converter": STRING, "value.converter": JSON}, limit=2, seconds=60
    )


def test_a_source_is_polled_in_a_process_of_its_own(tmp_path: Path) -> None:
    request = of_file(tmp_path, **{name.replace(".", "__"): value for name, value in CHAIN.items()})
    found = plain(Previews(300).run(request))
    assert (found["kind"], found["error"], len(found["records"])) == ("source", None, 2)
    first = found["records"][0]
    assert (first["before"]["value"], first["before"]["value_schema"]) == ("one", "string")
    steps = {step["alias"]: step for step in first["steps"] if step["alias"]}
    assert (steps["wrap"]["changed"], steps["wrap"]["after"]["value"]) == (True, {"line": "one"})
    assert (steps["stamp"]["predicate"], steps["stamp"]["changed"]) == (False, False)
    schema = '{"type":"struct","fields":[{"type":"string","optional":false,"field":"line"}],"optional":false}'
    written = f'{{"schema":{schema},"payload":{{"line":"one"}}}}'
    assert (first["result"]["topic"], first["result"]["value"]) == ("t", written)
    assert first["result"]["bytes"] == {"key": None, "value": len(written)}
    assert first["result"]["origin"]["source_offset"] == {"position": 4}


def test_a_record_that_is_dropped_and_one_that_fails(tmp_path: Path) -> None:
    drop = {"transforms": "drop", "transforms__drop__type": f"{TRANSFORMS}.Filter"}
    dropped = preview(of_file(tmp_path, **drop))["records"][0]
    assert (dropped["result"], dropped["error"], dropped["steps"][0]["records"]) == (None, None, 0)
    cast = {
        "transforms": "cast",
        "transforms__cast__type": f"{TRANSFORMS}.Cast$Value",
        "transforms__cast__spec": "int32",
    }
    failed = preview(of_file(tmp_path, **cast))["records"][0]
    assert (failed["result"], failed["error"]["stage"]) == (None, "TRANSFORMATION")
    assert "one" in failed["error"]["message"]


def test_a_field_of_another_type_is_a_change_though_it_is_shown_alike(tmp_path: Path) -> None:
    chain = {
        "transforms": "wrap,cast,rename,same",
        "transforms__wrap__type": f"{TRANSFORMS}.ExtractField$Value",
        "transforms__wrap__field": "inner",
        "transforms__cast__type": f"{TRANSFORMS}.Cast$Value",
        "transforms__cast__spec": "amount:string",
        "transforms__rename__type": f"{TRANSFORMS}.SetSchemaMetadata$Value",
        "transforms__rename__schema__version": "2",
        "transforms__same__type": f"{TRANSFORMS}.DropHeaders",
        "transforms__same__headers": "none",
    }
    inner = struct(("amount", decimal(2)), name="amounts")
    origin = SourceOrigin([{}], [{}])
    values: list[Any] = [{"inner": {"amount": Decimal("1.50")}}]
    batch = Batch.of("t", values, value_schema=struct(("inner", inner)), origin=origin)
    polled = base64.b64encode(write(whole(batch))).decode()
    (record,) = preview(replace(of_file(tmp_path, **chain), sampled=polled))["records"]
    steps = {step["alias"]: step for step in record["steps"]}
    assert [steps[alias]["changed"] for alias in ("wrap", "cast", "rename", "same")] == [True, True, True, False]
    assert steps["rename"]["after"]["value"] == {"amount": "1.50"}


def test_records_are_shown_as_avro_and_their_schema_is_registered(tmp_path: Path) -> None:
    pytest.importorskip("fastavro")
    with running_double() as registry:
        request = of_file(tmp_path, value__converter=AVRO, value__converter__schema__registry__url=registry.url)
        shown = preview(request)["records"]
        assert [record["result"]["value"] for record in shown] == ["\0\0\0\0\1\6one", "\0\0\0\0\1\6two"]
        assert registry.subjects == {"t-value": [1]}


def test_a_registry_that_is_down_is_asked_once(tmp_path: Path) -> None:
    pytest.importorskip("fastavro")
    with running_double() as registry:
        registry.fail(failure(503, 50003, "down"))
        settings = {"schema__registry__url": registry.url, "max__retries": "0", "retries__wait__ms": "60000"}
        request = of_file(tmp_path, value__converter=AVRO, **{f"value__converter__{n}": v for n, v in settings.items()})
        assert ["down" in record["error"]["message"] for record in preview(request)["records"]] == [True, True]
        assert len(registry.requests) == 1


def test_a_configuration_that_cannot_be_tried_gives_the_reason(tmp_path: Path) -> None:
    request = of_file(tmp_path, connector__class="org.apache.kafka.connect.mirror.MirrorHeartbeatConnector")
    assert "polling it is harmless" in preview(request)["error"]["message"]
    wrong = {"transforms": "x", "transforms__x__type": "NoSuch"}
    assert preview(of_file(tmp_path, **wrong))["error"]["stage"] == "CONFIGURATION"


def test_a_preview_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    sleeping = Previews(0.5, (sys.executable, "-c", "import time; time.sleep(600)"))
    started = time.monotonic()
    with pytest.raises(Refused, match="was killed"):
        sleeping.run(of_file(tmp_path))
    assert time.monotonic() - started < 300
    with pytest.raises(Refused, match="status 3 and no answer: lost <secret>"):
        Previews(300, (sys.executable, "-c", "import sys; print('lost s3cret', file=sys.stderr); sys.exit(3)")).run(
            of_file(tmp_path), lambda text: text.replace("s3cret", "<secret>")
        )


def test_what_a_preview_prints_is_not_kept_but_for_its_end(tmp_path: Path) -> None:
    verbose = (
        "import os, sys; [os.write(2, b'line\\n' * 20000) for _ in range(2000)]; os.write(2, b'the last line\\n'); "
    )
    verbose += "sys.exit(3)"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Refused, match="status 3 and no answer: the last line"):
        Previews(300, (sys.executable, "-c", verbose)).run(of_file(tmp_path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes, of 200 megabytes"


def test_an_answer_that_is_none_is_an_error_that_names_it(tmp_path: Path) -> None:
    body = '{"type": "PreviewAnswer", "kind": "sink", "record": [], "error": null}'
    said = f"import sys; sys.stdout.buffer.write(len({body!r}).to_bytes(4, 'big') + {body!r}.encode())"
    with pytest.raises(Refused, match=r"invalid message PreviewAnswer of the preview: .*`record`"):
        Previews(300, (sys.executable, "-c", said)).run(of_file(tmp_path))


@pytest.mark.integration
def test_a_sink_is_shown_the_last_records_and_nothing_is_committed(bootstrap: str, kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, [Record(f'{{"n": {n}}}', b"k", n % 2, timestamp=1000 + n) for n in range(6)])
    connector = {"name": "s", "connector.class": "FileStreamSink", "topics": topic, **CHAIN}
    worker = {
        "bootstrap.servers": bootstrap,
        "key.converter": STRING,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    last = preview(PreviewRequest(connector=connector, worker=worker, limit=3, seconds=60))
    assert (last["kind"], last["error"]) == ("sink", None)
    assert [record["result"]["value"] for record in last["records"]] == [{"line": {"n": n}} for n in (3, 4, 5)]
    assert last["records"][0]["before"]["origin"] == {"topic": topic, "partition": 1, "offset": 1}
    chosen = preview(PreviewRequest(connector=connector, worker=worker, limit=1, partition=0, offset=1, seconds=60))
    assert [record["result"]["value"] for record in chosen["records"]] == [{"line": {"n": 2}}]
    assert kafka.committed("penstock-preview") == {}


def test_records_that_spark_has_read_go_through_the_chain(tmp_path: Path) -> None:
    origin = SourceOrigin([{"query": "c"}], [{"batch": -1}])
    schema = struct(("id", INT64), ("at", TIMESTAMP), ("price", decimal(2)))
    row = [[7], [datetime(2026, 1, 2, tzinfo=UTC)], [Decimal("1.50")]]
    read = Batch.of("t", Table(["id", "at", "price"], row), value_schema=schema, origin=origin)
    hoist = {"transforms": "wrap", "transforms__wrap__type": f"{TRANSFORMS}.HoistField$Value"}
    query = {"connector__class": "SparkSource", "format": "json", "transforms__wrap__field": "row"}
    plain = {"value__converter": JSON, "value__converter__schemas__enable": "false"}
    request = of_file(tmp_path, **plain, **hoist, **query)
    sampled = base64.b64encode(write(whole(read))).decode()
    (record,) = preview(replace(request, sampled=sampled))["records"]
    assert (record["before"]["value"]["id"], record["before"]["origin"]["source_offset"]) == (7, {"batch": -1})
    assert record["result"]["value"] == '{"row":{"id":7,"at":1767312000000,"price":"AJY="}}'
    assert preview(replace(request, sampled="")) == {"kind": "source", "records": [], "error": None}


@pytest.mark.integration
def test_a_mirror_is_polled_and_nothing_is_created(bootstrap: str, kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [Record(b"one", b"k"), Record(b"two", b"k")])
    target = f"of-{topic}"
    clusters = {f"{side}.cluster.bootstrap.servers": bootstrap for side in ("source", "target")}
    connector = {
        "name": "m",
        "connector.class": "MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": target,
        "topics": topic,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        **clusters,
    }
    before = kafka.topics()
    found = preview(PreviewRequest(connector=connector, worker={"bootstrap.servers": bootstrap}, limit=5, seconds=60))
    assert (found["kind"], found["error"]) == ("source", None)
    assert {record["result"]["topic"] for record in found["records"]} == {f"a.{topic}"}
    assert len(found["records"]) == 2
    assert [name for name in kafka.topics() - before if topic in name] == []
