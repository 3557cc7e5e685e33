"""Telemetry of a task: its stages, places and clients."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.source import SourceProgress, SourceTask
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.figures import SourceFigures
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.telemetry.places import MAX_PLACES, Places, of_source, of_topic
from penstock.pipeline.telemetry.plugin_calls import PluginCalls
from penstock.pipeline.telemetry.stages import timed
from penstock.spark.messages.task import FROM_TASK, MetricsReport
from support.tasks.specs import SOURCE


def failing(batch: Batch) -> Batch:
    raise ValueError("no")


def test_the_time_of_steps_counts_also_if_they_fail() -> None:
    metrics = Metrics(lambda values: None, ())
    metrics.snapshot(100.0)
    kinds = (
        PipelineStage.TRANSFORMATION,
        PipelineStage.VALUE_CONVERTER,
        PipelineStage.KEY_CONVERTER,
        PipelineStage.KAFKA_CONSUME,
    )
    steps = [Step(stage, "p", lambda batch: batch) for stage in kinds] + [
        Step(PipelineStage.TRANSFORMATION, "p", failing)
    ]
    made = timed(steps, metrics)
    assert made[3] is steps[3]
    batch = Batch.of("t", ["a"])
    for step in made[:4]:
        assert step.apply(batch) is batch
    with pytest.raises(ValueError, match="no"):
        made[4].apply(batch)
    metrics.spent("put", 2.0)
    values = metrics.snapshot(110.0)
    assert values["penstock-stage-put-seconds-rate"] == 0.2
    counted = {name for name in values if name.startswith("penstock-stage-") and name.endswith("-total")}
    assert counted == {f"penstock-stage-{stage}-seconds-total" for stage in ("transform", "convert", "put")}


def test_a_step_that_does_not_return_is_a_call_of_its_plugin() -> None:
    calls, seen = PluginCalls(), list[str]()

    def look(batch: Batch) -> Batch:
        calls.report(0.0, lambda call: seen.append(call.method))
        return batch

    (step,) = timed([Step(PipelineStage.TRANSFORMATION, "Mask", look)], Metrics(lambda values: None, ()), calls)
    step.apply(Batch.of("t", ["a"]))
    calls.report(0.0, lambda call: seen.append("nothing is called any more"))
    assert seen == ["transform by Mask"]


def test_rates_and_lag_of_places() -> None:
    places = Places()

    def measured(now: float, *counts: int | None) -> list[dict[str, object]]:
        near, far = (of_topic("from", "t", i, count, 1000) for i, count in enumerate(counts))
        return places.described(now, [near, far, of_source({"file": "f"}, 5, None, "bytes"), of_topic("to", "u", 0, 7)])

    first = measured(10.0, 900, 100)
    assert [each["behind"] for each in first] == [900, 100, None, None]
    assert first[0]["per_second"] is None
    second = measured(20.0, 950, 100)
    assert {(each["direction"], each.get("topic"), each.get("partition"), each["per_second"]) for each in second} == {
        ("from", "t", 0, 5.0),
        ("from", "t", 1, 0.0),
        ("from", None, None, 0.0),
        ("to", "u", 0, 0.0),
    }
    assert next(each for each in second if "source" in each)["source"] == '{"file": "f"}'
    assert measured(60.0, 1950, None)[0] == {
        "direction": "from",
        "topic": "t",
        "partition": 0,
        "position": 1950,
        "end": 1000,
        "behind": 0,
        "unit": "records",
        "per_second": None,
    }
    many = places.described(70.0, [of_topic("from", "t", i, 0, i) for i in range(MAX_PLACES + 50)])
    assert (len(many), many[0]["behind"], many[-1]["behind"]) == (MAX_PLACES, MAX_PLACES + 49, 50)


def test_what_librdkafka_says_by_javas_names() -> None:
    statistics = ClientStatistics("producer", "p-0")
    assert statistics.read().described()["values"]["connection-count"] == 0
    partitions = {
        "0": {"txmsgs": 2, "txbytes": 20},
        "1": {"txmsgs": 3, "txbytes": 30},
        "-1": {"txmsgs": 9, "txbytes": 9},
    }
    brokers = {"a": {"state": "UP", "connects": 2}, "b": {"state": "DOWN", "connects": 1}}
    totals = {"tx": 4, "rx": 3, "tx_bytes": 100, "rx_bytes": 50}
    statistics(json.dumps({**totals, "brokers": brokers, "topics": {"t": {"partitions": partitions}}}))
    assert statistics.read().described() == {
        "kind": "producer",
        "client_id": "p-0",
        "values": {
            "connection-count": 1,
            "connection-creation-total": 3,
            "outgoing-byte-total": 100,
            "incoming-byte-total": 50,
            "request-total": 4,
            "response-total": 3,
        },
        "topics": {"t": {"record-send-total": 5, "byte-total": 50}},
    }


class Quiet(SourceTask):
    """Reports only its delay."""

    def seconds_behind(self) -> float:
        return 2.5


class Broken(SourceTask):
    def progress(self) -> list[SourceProgress]:
        raise ValueError("no")


def measured(task: SourceTask, *committed: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the metrics of a task that has reached these source offsets."""
    spec = SOURCE
    offsets = SourceTaskOffsets(spec)
    for partition, offset in committed:
        offsets.put(partition, offset)
    metrics = Metrics(lambda values: None, ())
    SourceFigures(task, offsets, ClientStatistics("producer", "p"), metrics).measure()
    return dict(metrics.snapshot(0.0))


@pytest.mark.parametrize("task", [Quiet(), Broken()])
def test_a_source_that_does_not_say_where_it_is_has_the_numbers_of_its_offsets(task: SourceTask) -> None:
    values = measured(task, ({"server": "shop"}, {"lsn": 7, "snapshot": True, "file": "a", "ts": 9}))
    places = [(each["source"], each["position"], each["end"], each["unit"]) for each in values["penstock-places"]]
    assert sorted(places) == [('{"server": "shop"}', 7, None, "lsn"), ('{"server": "shop"}', 9, None, "ts")]
    assert values.get("penstock-seconds-behind") == (2.5 if isinstance(task, Quiet) else None)


def test_numbers_of_other_classes_are_reported_as_numbers() -> None:
    """Databases and NumPy return numbers of classes that JSON does not support."""

    class Counting(SourceTask):
        def seconds_behind(self) -> float:
            return math.nan

        def progress(self) -> list[SourceProgress]:
            position: Any = Decimal(3)
            return [SourceProgress({"table": "t"}, position, 5)]

    arrived = FROM_TASK.decode(FROM_TASK.encode(MetricsReport(measured(Counting()))))
    assert isinstance(arrived, MetricsReport)
    values = arrived.values
    (place,) = values["penstock-places"]
    assert (place["position"], place["behind"], values["penstock-records-behind"]) == (3, 2, 2)
    assert "penstock-seconds-behind" not in values


def test_a_source_of_many_partitions_has_no_time_series_of_each() -> None:
    committed = [({"file": str(number)}, {"line": number}) for number in range(21)]
    assert len(measured(Quiet(), *committed[:20])["penstock-places"]) == 20
    assert measured(Quiet(), *committed)["penstock-places"] == []
