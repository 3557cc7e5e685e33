"""Records of topics, decoded by a connector's converters, from real topics."""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from faults.proxy import Proxy
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.model.messages import Refused
from penstock.preview.messages import RecordsAnswer, RecordsRequest
from penstock.preview.process import Previews
from penstock.preview.topic_records import MAX_BYTES, topic_consumer, topic_records
from support.kafka.client import Kafka, Record
from support.waiting import until

pytestmark = pytest.mark.integration

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
MASK = {
    "transforms": "mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "ssn",
}


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.create_topic(partitions=2)


def request_for(bootstrap: str, topic: str, connector: dict[str, str] | None = None, **more: Any) -> RecordsRequest:
    config = {"name": "c", "connector.class": "FileStreamSink", "topics": topic, "file": "/tmp/x", **(connector or {})}
    worker = {
        "bootstrap.servers": bootstrap,
        "key.converter": STRING,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    return RecordsRequest(connector=config, worker=worker, topic=topic, seconds=more.pop("seconds", 300.0), **more)


def places(answer: RecordsAnswer) -> list[tuple[int, int]]:
    assert answer.error is None
    return [(record["partition"], record["offset"]) for record in answer.records]


def test_the_last_records_are_decoded_with_key_headers_and_time(kafka: Kafka, bootstrap: str, topic: str) -> None:
    sent = [
        Record(f'{{"n": {i}}}', key=f"k{i}", partition=i % 2, headers=(("h", b"1"),), timestamp=i + 1)
        for i in range(10)
    ]
    kafka.produce(topic, sent)
    answer = topic_records(request_for(bootstrap, topic, limit=3))
    assert places(answer) == [(1, 3), (0, 4), (1, 4)]
    last = answer.records[-1]
    assert (last["key"], last["value"], last["timestamp"]) == ("k9", {"n": 9}, 10)
    assert last["headers"] == [["h", 1]]
    assert last["errors"] == []
    assert last["bytes"] == {"key": 2, "value": 8}
    assert answer.left == []


def test_records_from_the_beginning_an_offset_and_a_time(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [Record(f'{{"n": {i}}}', partition=0) for i in range(4)])
    time.sleep(0.05)
    noon = int(time.time() * 1000)
    time.sleep(0.05)
    kafka.produce(topic, [Record(f'{{"n": {i}}}', partition=0) for i in range(4, 6)])
    first = topic_records(request_for(bootstrap, topic, start="earliest", limit=2))
    assert places(first) == [(0, 0), (0, 1)]
    assert first.left == [(0, 2)]
    following = request_for(bootstrap, topic, offsets={"0": 2}, limit=3)
    assert places(topic_records(following)) == [(0, 2), (0, 3), (0, 4)]
    assert places(topic_records(request_for(bootstrap, topic, start=noon))) == [(0, 4), (0, 5)]
    assert places(topic_records(request_for(bootstrap, topic, start=noon + 3_600_000))) == []
    assert places(topic_records(request_for(bootstrap, topic, partition=1))) == []
    missing = topic_records(request_for(bootstrap, topic, partition=7))
    assert (missing.error, missing.status) == (f"Topic {topic} has no partition 7; it has 2", 400)
    beyond = topic_records(request_for(bootstrap, topic, offsets={"9": 1}))
    assert (beyond.error, beyond.status) == (f"Topic {topic} has no partition 9; it has 2", 400)


def test_a_text_is_searched_for_in_any_case_until_the_time_is_over(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [Record(f'{{"name": "Änne {i}"}}', key=f"k{i}", partition=0) for i in range(300)])
    found = topic_records(request_for(bootstrap, topic, search="ÄNNE 29"))
    assert [offset for _, offset in places(found)] == [29, *range(290, 300)]
    assert places(topic_records(request_for(bootstrap, topic, search="K17", start="earliest", limit=2))) == [
        (0, 17),
        (0, 170),
    ]
    stopped = topic_records(request_for(bootstrap, topic, search="nobody", start="earliest", seconds=0.0))
    assert (stopped.records, stopped.scanned, stopped.left) == ([], 0, [(0, 0)])


def test_fields_that_the_connector_masks_are_masked_and_not_found(kafka: Kafka, bootstrap: str, topic: str) -> None:
    texts = ['{"ssn": "111-22", "of": [{"ssn": 7, "name": "x"}]}', '"111-22"', '{"ssn": null}', None]
    kafka.produce(topic, [Record(text, partition=0) for text in texts])
    answer = topic_records(request_for(bootstrap, topic, MASK, start="earliest"))
    assert [record["value"] for record in answer.records] == [
        {"ssn": "[hidden]", "of": [{"ssn": "[hidden]", "name": "x"}]},
        "[hidden]",
        {"ssn": None},
        None,
    ]
    assert topic_records(request_for(bootstrap, topic, MASK, start="earliest", search="111-22")).records == []


@pytest.mark.parametrize("masks", [{}, MASK])
def test_a_record_that_cannot_be_decoded_is_shown_with_its_error(
    kafka: Kafka, bootstrap: str, topic: str, masks: dict[str, str]
) -> None:
    kafka.produce(topic, [Record('{"ssn": 111', key="k", partition=0), Record("{}", partition=0)])
    broken, whole = topic_records(request_for(bootstrap, topic, masks, start="earliest")).records
    assert [each["stage"] for each in broken["errors"]] == ["VALUE_CONVERTER"]
    assert broken["key"] == ("[hidden]" if masks else "k")
    assert broken["value"] == ("[hidden]" if masks else '{"ssn": 111')
    assert ("111" in broken["errors"][0]["message"]) is False or not masks
    assert whole["value"] == {}


def test_bytes_headers_and_texts_are_hidden_by_a_chain_that_masks(kafka: Kafka, bootstrap: str, topic: str) -> None:
    unread = b"\x00\x00\x00\x00\x07\xff123-45-6789"
    headers = (("h", b'{"ssn": "123"}'), ("ssn", b"123"), ("none", None))
    kafka.produce(topic, [Record(unread, key='{"ssn": "123"}', partition=0, headers=headers)])
    for connector in (MASK, MASK | {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}):
        (record,) = topic_records(request_for(bootstrap, topic, connector, start="earliest")).records
        assert (record["key"], record["value"]) == ("[hidden]", "[hidden]")
        assert record["headers"] == [["h", "[hidden]"], ["ssn", "[hidden]"], ["none", None]]
        for text in ("123", "AAAAAAf/MTIzLTQ1LTY3ODk="):
            assert topic_records(request_for(bootstrap, topic, connector, start="earliest", search=text)).records == []


def test_a_value_is_masked_whole_if_the_names_of_its_masked_fields_are_not_known(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    kafka.produce(topic, [Record('{"person": {"ssn": "123"}}', key="k", partition=0), Record("[1]", partition=0)])
    chain = MASK | {
        "transforms": "flatten,mask",
        "transforms.mask.fields": "person_ssn",
        "transforms.flatten.type": "org.apache.kafka.connect.transforms.Flatten$Value",
        "transforms.flatten.delimiter": "_",
    }
    found = topic_records(request_for(bootstrap, topic, chain, start="earliest"))
    assert [record["value"] for record in found.records] == ["[hidden]", "[hidden]"]
    assert topic_records(request_for(bootstrap, topic, chain, start="earliest", search="123")).records == []


def test_texts_are_searched_whole_and_as_they_are(kafka: Kafka, bootstrap: str, topic: str) -> None:
    value = {"n": 7, "of": [{"naïve": 'say "hi"'}, "a\\b", "one\ntwo"], "long": "x" * 20_000 + "the end"}
    kafka.produce(topic, [Record(json.dumps(value), partition=0), Record("{}", partition=0)])
    for wanted in ('say "hi"', "a\\b", "one\ntwo", "the end", '"n": 7', "NAÏVE"):
        (record,) = topic_records(request_for(bootstrap, topic, start="earliest", search=wanted)).records
        assert (record["offset"], len(record["value"]["long"])) == (0, 10_001)


def test_an_answer_is_limited_in_bytes(kafka: Kafka, bootstrap: str, topic: str) -> None:
    text = json.dumps(["x" * 9_000] * 100)
    kafka.produce(topic, [Record(text, partition=0) for _ in range(24)])
    full = MAX_BYTES // len(text)
    newest = topic_records(request_for(bootstrap, topic, limit=500, search="x"))
    assert [offset for _, offset in places(newest)] == list(range(24 - full, 24))
    assert (newest.scanned, newest.left) == (24, [])
    first = topic_records(request_for(bootstrap, topic, limit=500, start="earliest"))
    assert [offset for _, offset in places(first)] == list(range(full + 1))
    assert (first.scanned, first.left) == (full + 1, [(0, full + 1)])


def test_a_search_fails_if_all_brokers_go_away(kafka: Kafka, topic: str) -> None:
    kafka.produce(topic, [Record(json.dumps("x" * 100_000), partition=0) for _ in range(100)])
    port, passed, begun, gone = int(kafka.bootstrap.split(":")[1]), 0, threading.Event(), threading.Event()

    def altered(data: bytes) -> bytes:
        nonlocal passed
        passed += len(data)
        if passed > 1_000_000:
            begun.set()
            gone.wait()
        return data.replace(port.to_bytes(4, "big"), proxy.port.to_bytes(4, "big"))

    proxy = Proxy(port, altered)
    with ThreadPoolExecutor(1) as pool:
        with proxy:
            bootstrap = f"127.0.0.1:{proxy.port}"
            answer = pool.submit(topic_records, request_for(bootstrap, topic, start="earliest", limit=500))
            begun.wait()
            proxy.reset()
        gone.set()
        assert (answer.result().error or "").startswith(f"Topic {topic} cannot be read: ")


def test_nothing_is_committed_and_no_topic_is_created(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [Record("{}", partition=0)])
    assert places(topic_records(request_for(bootstrap, topic))) == [(0, 0)]
    assert kafka.committed("penstock-records") == {}
    answer = topic_records(request_for(bootstrap, f"{topic}-missing"))
    assert (answer.error, answer.status) == (f"There is no topic {topic}-missing", 404)
    assert f"{topic}-missing" not in kafka.topics()


def test_an_internal_topic_is_not_read(kafka: Kafka, bootstrap: str, topic: str) -> None:
    internal = InternalTopics({topic: "the worker's config topic"}, servers=bootstrap)
    answer = topic_records(request_for(bootstrap, topic, internal_topics=internal))
    assert answer.records == []
    assert topic in (answer.error or "")
    assert answer.status == 403


def test_the_topics_of_a_source_are_read_with_the_settings_of_its_producer() -> None:
    worker = {"bootstrap.servers": "a:1", "producer.ssl.protocol": "TLSv1.3", "consumer.ssl.protocol": "x"}
    connector = {"producer.override.bootstrap.servers": "b:2", "producer.override.acks": "1"}
    settings = topic_consumer(worker, connector, "source")
    assert (settings["bootstrap.servers"], settings["ssl.protocol"]) == ("b:2", "TLSv1.3")
    assert "acks" not in settings
    of_sink = {"consumer.override.bootstrap.servers": "c:3", "consumer.override.group.id": "g"}
    assert topic_consumer(worker, of_sink, "sink")["bootstrap.servers"] == "c:3"


def test_a_search_of_records_that_does_not_answer_is_named() -> None:
    ended = Previews(300, (sys.executable, "-c", "import sys; sys.exit(3)"))
    with pytest.raises(Refused, match=r"^The search of records has ended with status 3 and no answer"):
        ended.records(request_for("127.0.0.1:1", "t"))


def test_a_search_ends_when_its_client_has_left(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    endless = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(36000)"
    previews, left = Previews(36_000, (sys.executable, "-c", endless)), Future[None]()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(previews.records, request_for("127.0.0.1:1", "t"), str, left)
        until(begun.exists, "the process runs")
        left.set_result(None)
        with pytest.raises(Refused, match="The client has closed its connection"):
            answer.result()
    with pytest.raises(Refused, match="The client has closed its connection"):
        previews.records(request_for("127.0.0.1:1", "t"), str, left)


def test_records_are_read_in_a_process_of_their_own(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [Record(text, partition=0) for text in ('{"secret": 1', "{}")])
    answer = Previews().records(request_for(bootstrap, topic, start="earliest"), lambda text: "cleaned")
    assert [each["message"] for each in answer.records[0]["errors"]] == ["cleaned"]
    assert answer.records[1]["value"] == {}
