"""Totals of Spark's processes, added up for a batch."""

from __future__ import annotations

import pickle

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.pipeline.metrics import Metrics
from penstock.spark.query.jdbc.plan import PassTotals, Stops
from penstock.spark.query.sink.totals import BatchTotals, SumOf, TotalsOfParts


def test_metrics_of_a_process_are_sorted_by_what_they_measure() -> None:
    metrics = Metrics(lambda _: None, ("sink-record-send-total",))
    metrics.add("sink-record-read-total", 3)
    metrics.add("total-records-skipped", 2)
    metrics.put("last-error-timestamp", 1700000000000)
    metrics.say("penstock-last-error", "DataError: broken")
    metrics.spent("convert", 1.5)
    assert BatchTotals.of_metrics(metrics.snapshot(0.0)) == BatchTotals(
        counts={"sink-record-read-total": 3, "total-records-skipped": 2},
        times={"last-error-timestamp": 1700000000000},
        texts={"penstock-last-error": "DataError: broken"},
        stages={"convert": 1.5},
    )


def test_totals_of_processes_are_added_up() -> None:
    one = BatchTotals({"read": 2.0}, {"at": 5.0}, {"error": "a"}, {"put": 1.0}, 1.0, 10.0, {"t"}, {"x"})
    other = BatchTotals({"read": 3.0, "sent": 1.0}, {"at": 4.0}, {"error": "b"}, {"put": 2.0}, 0.5, 9.0, {"u"}, {"x"})
    sum = SumOf[BatchTotals]()
    assert sum.addInPlace(sum.addInPlace(sum.zero(one), one), other) == BatchTotals(
        {"read": 5.0, "sent": 1.0}, {"at": 5.0}, {"error": "b"}, {"put": 3.0}, 1.5, 10.0, {"t", "u"}, {"x"}
    )


def test_a_part_that_spark_reads_again_counts_once() -> None:
    sum = SumOf[TotalsOfParts]()
    found = sum.zero(TotalsOfParts())
    for place in [("t", 0, 0), ("t", 0, 100), ("t", 1, 0), ("t", 0, 100)]:
        part = TotalsOfParts({place: BatchTotals({"sent": 1.0, "total-records-skipped": 2.0}, topics={"t"})})
        found = sum.addInPlace(found, pickle.loads(pickle.dumps(part)))
    assert found.together() == BatchTotals({"sent": 3.0, "total-records-skipped": 6.0}, topics={"t"})


def test_totals_of_dead_letters_are_those_of_errors_alone() -> None:
    totals = BatchTotals(
        counts={"sink-record-read-total": 3, "total-records-skipped": 2, "deadletterqueue-produce-requests": 1},
        times={"last-error-timestamp": 7.0, "penstock-last-error-timestamp": 8.0},
        texts={"penstock-last-error": "DataError: broken"},
        stages={"convert": 1.5},
        busy=2.0,
        latest=9.0,
        topics={"t"},
    )
    assert totals.errors() == BatchTotals(
        counts={"total-records-skipped": 2, "deadletterqueue-produce-requests": 1},
        times=totals.times,
        texts=totals.texts,
    )


def test_a_pass_continues_where_any_process_has_stopped() -> None:
    new = RowShape("t", (SinkColumn("id", ColumnKind.INT32, RecordPart.VALUE, "id"),))
    totals = PassTotals()
    for partition in (0, 1):
        part = PassTotals(BatchTotals({"sent": 1.0}), Stops([new], {("t", partition): 4 + partition}))
        totals.add(pickle.loads(pickle.dumps(part)))
    assert totals.batch.counts == {"sent": 2.0}
    assert totals.stops == Stops([new], {("t", 0): 4, ("t", 1): 5})
