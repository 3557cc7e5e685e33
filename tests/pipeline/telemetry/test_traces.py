"""Traces of batches, as a collector of OpenTelemetry gets them."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from penstock.api.batch import Batch
from penstock.api.errors import ConfigError
from penstock.api.record import Header
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.telemetry import otlp
from penstock.pipeline.telemetry.open_traces import open_traces
from penstock.pipeline.telemetry.spans import CLOSE_S, parents
from penstock.pipeline.telemetry.traces import MAX_HEADER_LENGTH, MAX_TRACES, NO_TRACES, current_ids, traceparents
from support.kafka.client import Kafka
from support.otlp import Collector, attributes
from support.tasks.recording_sink import recording, values
from support.tasks.runs import TaskRun, eventually
from support.tasks.scripted_source import records, scripted

ON = {"penstock.telemetry.traces": "true", "penstock.telemetry.headers": "true"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield collector


def spec(kind: str = "source", **worker: str) -> TaskSpec:
    config: dict[str, str] = {}
    settings = {**ON, **worker}
    return TaskSpec(
        connector="orders",
        task=3,
        run=7,
        kind=kind,
        task_class="",
        config=config,
        connector_config=config,
        worker_config=settings,
        group_id="g",
    )


def measured(kind: str = "source", **worker: str) -> Metrics:
    return Metrics(lambda values: None, (), traces=open_traces(spec(kind, **worker)))


def traceparent(trace: int, sampled: bool = True) -> tuple[str, bytes]:
    return "traceparent", f"00-{trace:032x}-{trace:016x}-{int(sampled):02x}".encode()


def test_off_by_default() -> None:
    off = {"penstock.telemetry.traces": "false"}
    assert measured(**off).traces is NO_TRACES
    batch = Batch.of("t", [b"a"])
    assert NO_TRACES.carried(batch) is batch


def test_a_batch_of_a_source(collector: Collector) -> None:
    metrics = measured()
    traces = metrics.traces
    traces.begin()
    traces.idle()
    assert current_ids.get() == {}
    traces.begin()
    ids = dict(current_ids.get())
    traces.polled(Batch.of("t", ["a", "b"]))
    for stage in ("poll", "transform", "convert", "send"):
        metrics.spent(stage, 0.001)
    sent = traces.carried(Batch.of("t", [b"a", b"b"]))
    metrics.committed(0.0001)
    metrics.spent("commit", 0.002)
    traces.end()
    metrics.committed(0.0, success=False)
    traces.close()
    (batch,) = collector.spans("source orders")
    below = [span for span in collector.spans() if span.parent_span_id == batch.span_id]
    assert {span.name for span in below} == {"poll", "transform", "convert", "send", "commit"}
    assert [span.status.code for span in below if span.name == "commit"] == [0, Status.STATUS_CODE_ERROR]
    assert {span.trace_id for span in below} == {batch.trace_id}
    assert len(collector.spans()) == 7
    flags = ids.pop("trace_flags")
    assert int(flags, 16) & 1
    assert ids == {"trace_id": batch.trace_id.hex(), "span_id": batch.span_id.hex()}
    assert attributes(batch) == {
        "messaging.system": "kafka",
        "messaging.batch.message_count": 2,
        "messaging.destination.name": "t",
        "penstock.group": "g",
        "penstock.connector": "orders",
        "penstock.task": 3,
        "penstock.run": 7,
    }
    header = Header("traceparent", None, f"00-{ids['trace_id']}-{ids['span_id']}-{flags}".encode())
    assert sent.headers == [(header,), (header,)]
    assert sent.headers[0] is sent.headers[1]
    assert collector.services() == {"penstock"}


def test_a_sink_continues_the_first_sampled_trace_and_is_seen_in_the_others(collector: Collector) -> None:
    metrics = measured("sink")
    traces = metrics.traces
    old = ("other", b"x")
    rows = [(traceparent(1, sampled=False),), (old, traceparent(2)), (old, traceparent(2)), (), (traceparent(3),)]
    traces.begin([*rows, (("traceparent", b"nonsense"),)])
    metrics.spent("poll", 9.0)
    metrics.spent("put", 0.5)
    traces.end()
    metrics.spent("commit", 0.1)
    traces.close()
    put, flush = collector.spans("put")[0], collector.spans("flush")[0]
    batches = {int.from_bytes(span.trace_id, "big"): span for span in collector.spans("sink orders")}
    assert sorted(batches) == [2, 3]
    assert batches[2].parent_span_id == (2).to_bytes(8, "big")
    assert sorted(int.from_bytes(link.trace_id, "big") for link in batches[2].links) == [1, 3]
    assert [link.span_id for link in batches[3].links] == [batches[2].span_id]
    assert put.parent_span_id == flush.parent_span_id == batches[2].span_id
    assert collector.spans("poll") == []


def test_a_query_has_spans_of_its_own_not_of_shares_of_its_time(collector: Collector) -> None:
    metrics = measured("query")
    metrics.traces.begin()
    metrics.traces.stage("write", 0.2)
    metrics.spent("convert", 0.1)
    metrics.spent("commit", 0.1)
    metrics.traces.committed(0.0, success=True)
    metrics.traces.end()
    metrics.traces.close()
    assert {span.name for span in collector.spans()} == {"sink orders", "write", "commit"}


def test_a_query_continues_the_traces_of_the_records_that_it_has_written(collector: Collector) -> None:
    traces = measured("query").traces
    traces.begin()
    traces.read([])
    traces.read([f"00-{trace:032x}-{trace:016x}-01" for trace in (2, 3)])
    traces.stage("write", 0.2)
    traces.committed(0.0, success=True)
    traces.end()
    traces.read([f"00-{9:032x}-{9:016x}-01"])
    traces.close()
    batches = {int.from_bytes(span.trace_id, "big"): span for span in collector.spans("sink orders")}
    assert sorted(batches) == [2, 3]
    assert [link.span_id for link in batches[3].links] == [batches[2].span_id]
    below = collector.spans("write") + collector.spans("commit")
    assert {int.from_bytes(span.trace_id, "big") for span in below} == {2}


def test_records_that_have_a_trace_keep_it(collector: Collector) -> None:
    traces = measured().traces
    traces.begin()
    header = Header("traceparent", None, traceparent(5)[1])
    batch = Batch.of("t", [b"a", b"b"], headers=[(header,), (Header("h", None, b"x"),)])
    traces.polled(batch)
    rows = traces.carried(batch).headers
    assert rows[0] == (header,)
    assert [h.key for h in rows[1]] == ["h", "traceparent"]
    assert rows[1][1].value[3:35] == f"{5:032x}".encode()
    traces.end()
    traces.close()
    assert [int.from_bytes(span.trace_id, "big") for span in collector.spans()] == [5]


def test_a_batch_that_fails_says_why(collector: Collector) -> None:
    metrics = measured("sink")
    metrics.traces.begin()
    metrics.survived(ConnectionError("try again"))
    metrics.traces.end(ValueError("no such table"))
    metrics.traces.close()
    (batch,) = collector.spans()
    assert (batch.status.code, batch.status.message) == (Status.STATUS_CODE_ERROR, "no such table")
    assert [attributes(event)["exception.message"] for event in batch.events] == ["try again", "no such table"]


def test_errors_have_no_secrets(collector: Collector) -> None:
    known = {name: f"S3cret-{name}" for name in ("a.password", "b.password", "c.password")}
    (a, b, c) = ({name: value} for name, value in known.items())
    traces = open_traces(replace(spec(), config=a, connector_config=b, worker_config={**ON, **c}))
    traces.begin()
    try:
        raise ConnectionError(" ".join(known.values())) from ValueError("of S3cret-a.password")
    except ConnectionError as error:
        traces.survived(error)
        traces.end(error)
    traces.close()
    (batch,) = collector.spans()
    assert batch.status.message == "[hidden] [hidden] [hidden]"
    assert [attributes(event)["exception.message"] for event in batch.events] == [batch.status.message] * 2
    assert "ValueError: of [hidden]" in attributes(batch.events[0])["exception.stacktrace"]
    assert b"S3cret" not in batch.SerializeToString()


def test_what_is_not_sampled_is_not_sent_but_its_records_say_so(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    metrics = measured()
    metrics.traces.begin()
    metrics.traces.polled(Batch.of("t", ["a"]))
    metrics.spent("poll", 0.1)
    (row,) = metrics.traces.carried(Batch.of("t", [b"a"])).headers
    assert int(row[0].value[-2:], 16) & 1 == 0
    metrics.traces.end()
    metrics.traces.close()
    assert collector.spans() == []


def test_the_sdk_can_be_disabled(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    metrics = measured()
    batch = Batch.of("t", [b"a"])
    metrics.traces.begin()
    metrics.traces.polled(batch)
    metrics.spent("poll", 0.0)
    assert metrics.traces.carried(batch) is batch
    assert current_ids.get() == {}
    metrics.traces.end()
    metrics.traces.close()
    assert collector.received == []


def test_headers_only_where_they_are_switched_on(collector: Collector) -> None:
    off = {"penstock.telemetry.headers": "false"}
    traces = measured(**off).traces
    traces.begin()
    batch = Batch.of("t", [b"a"])
    assert traces.carried(batch) is batch
    traces.close()


def test_traces_of_one_batch_are_bounded() -> None:
    found = parents(traceparents([(traceparent(i),) for i in range(1, 3 * MAX_TRACES)]))
    assert [each.trace_id for each in found] == list(range(1, MAX_TRACES + 1))
    same = [(traceparent(1),), (), (traceparent(1),)] * 1000
    assert len(list(traceparents(same))) == 1
    assert list(traceparents([(("traceparent", b"0" * (MAX_HEADER_LENGTH + 1)),)])) == []


def test_a_collector_that_is_down_does_not_keep_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", str(CLOSE_S + 5))
        traces = measured().traces
        traces.begin()
        traces.end()
        traces.close()
        still = [thread for thread in threading.enumerate() if thread.name == "traces"]
        assert still, "it has waited for the collector"
    for thread in still:  # it draws random pauses, which Hypothesis takes for those of a later test
        thread.join()


def test_an_unknown_protocol_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_PROTOCOL is http/json; expected http/protobuf or grpc"):
        otlp.exporter("trace")


def test_the_service_has_the_name_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "connect-eu")
    assert otlp.resource().attributes["service.name"] == "connect-eu"


def test_a_task_without_the_extra_runs_without_traces(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "penstock.pipeline.telemetry.spans", None)
    with caplog.at_level(logging.WARNING):
        assert open_traces(spec()) is NO_TRACES
    assert "pip install 'penstock[opentelemetry]'" in caplog.text


@pytest.mark.integration
def test_source_topic_and_sink_share_one_trace(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str, collector: Collector
) -> None:
    logged: list[Any] = []

    def polled(self: Any) -> Any:
        batch = self.batches.pop(0) if self.batches else None
        if batch:
            logged.append(dict(current_ids.get()))
        return batch

    source = scripted(records(topic, "a", "b", "c"), poll=polled)
    sink = recording(flush=lambda self, offsets: None)
    with TaskRun(source, bootstrap, {}, ON, "from", offsets_topic=offsets_topic):
        eventually(lambda: len(kafka.values(topic)) == 3)
        with TaskRun(sink, bootstrap, {"topics": topic}, ON, "to"):
            eventually(lambda: values(sink) == ["a", "b", "c"])
            eventually(lambda: collector.spans("flush") and len(collector.spans("commit")) >= 2)
    (sent,), received = collector.spans("source from"), collector.spans("sink to")
    assert {span.trace_id for span in collector.spans()} == {sent.trace_id} == {span.trace_id for span in received}
    assert received[0].parent_span_id == sent.span_id
    assert [(ids["trace_id"], ids["span_id"]) for ids in logged] == [(sent.trace_id.hex(), sent.span_id.hex())]
    stages = {span.name: span for span in collector.spans() if span.parent_span_id == sent.span_id}
    assert {"poll", "convert", "send", "commit"} <= stages.keys()
    assert stages["poll"].start_time_unix_nano <= stages["convert"].start_time_unix_nano
    below = {span.name for span in collector.spans() if span.parent_span_id == received[0].span_id}
    assert {"convert", "put", "flush", "commit"} <= below
    (header,) = {dict(record.headers)["traceparent"] for record in kafka.read_all(topic)}
    assert header.startswith(f"00-{sent.trace_id.hex()}-{sent.span_id.hex()}-".encode())
