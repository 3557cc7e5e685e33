"""All cases: the functions that they run, and the goals of their figures relative to the reference's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import (
    beside_debezium,
    ceiling,
    control,
    copying,
    database,
    density,
    executors,
    formats,
    jars,
    lakehouse,
    many,
    mirroring,
    query,
    query_latency,
    spark_source,
)
from bench.connect import Connect
from bench.first_record import first_record
from bench.setting import Setting

Figures = dict[str, float]
Run = Callable[[Connect, Setting], Figures]


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: a minimum or maximum of a figure, as a multiple of the reference's or as an absolute value."""

    number: float
    at_least: bool = False
    by_itself: bool = False

    def holds(self, value: float, ratio: float | None) -> bool | None:
        """Return whether the goal is met; None if there is no reference to compare with."""
        compared = value if self.by_itself else ratio
        if compared is None:
            return None
        return compared >= self.number if self.at_least else compared <= self.number

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.number:g}{'' if self.by_itself else ' ×'}"


def _rate(least: float) -> dict[str, Goal]:
    return {"records/s": Goal(least, at_least=True)}


MANY = ("many-200", "many-200-shared")

CASES: dict[str, Run] = {
    "source-string": copying.source_string,
    "source-json": copying.source_json,
    "source-string-tuned": copying.source_string_tuned,
    "source-json-tuned": copying.source_json_tuned,
    "sink-string": copying.sink_string,
    "sink-json": copying.sink_json,
    "sink-wide": copying.sink_wide,
    "ceiling": copying.source_string,
    **formats.SOURCES,
    **formats.SINKS,
    "mirror-latency": mirroring.latency,
    "mirror-throughput": mirroring.throughput,
    "lifecycle": control.lifecycle,
    "rest": control.rest,
    **density.CASES,
    **many.CASES,
    "first-record": first_record,
    "query": query.by_connector,
    "query-latency": query_latency.by_connector,
    "spark-source": spark_source.by_connector,
    "spark-source-executors": executors.by_connector,
    **database.CASES,
    **beside_debezium.CASES,
    **jars.CASES,
    **lakehouse.CASES,
}

GOALS: dict[str, dict[str, Goal]] = {
    "source-string": _rate(2.0),
    "source-json": _rate(2.5),
    "source-string-tuned": _rate(1.4),
    "source-json-tuned": _rate(1.5),
    "sink-string": _rate(1.8),
    "sink-json": _rate(2.0),
    "sink-wide": _rate(2.0),
    "source-avro": _rate(2.0),
    "sink-avro": _rate(2.0),
    # Relative to Penstock's Avro.
    **{case: _rate(0.5) for side in ("source", "sink") for case in (f"{side}-json-schema", f"{side}-protobuf")},
    "mirror-latency": {"p50 ms": Goal(0.8), "p99 ms": Goal(0.8)},
    "mirror-throughput": _rate(1.3),
    "lifecycle": {"create ms": Goal(0.8), "restart ms": Goal(0.8)},
    "rest": {"p50 ms": Goal(2), "p99 ms": Goal(2)},
    "density": {
        "worker and one task MB": Goal(730, by_itself=True),
        "MB a task": Goal(30, by_itself=True),
        "idle CPU %": Goal(5, by_itself=True),
    },
    "density-shared": {"MB a task": Goal(6, by_itself=True), "idle CPU %": Goal(5, by_itself=True)},
    **{case: {"running s": Goal(0.3), "MB a task": Goal(6, by_itself=True), "idle CPU %": Goal(1)} for case in MANY},
    "first-record": {"s": Goal(5, by_itself=True)},
    "query": _rate(1.0),
    "query-latency": {"p50 ms": Goal(1)},
    "spark-source": _rate(0.9),
    "spark-source-executors": {executors.figure(count): Goal(0.9, at_least=True) for count in executors.EXECUTORS},
    "jdbc-source": _rate(0.9),
    "jdbc-sink": _rate(0.9),
    **{case: {"rows/CPU s": Goal(1.0, at_least=True)} for case in beside_debezium.CASES},
    **{case: {"rows/CPU s": Goal(2.0, at_least=True)} for case in (lakehouse.ICEBERG, lakehouse.DELTA)},
    "jar-source": _rate(0.8),
    "jar-sink": _rate(0.8),
    "jar-snapshot": _rate(0.95),
}

PROGRAMS: dict[str, Callable[[Setting], Figures]] = {
    "ceiling": ceiling.by_program,
    "query": query.by_program,
    "query-latency": query_latency.by_program,
    "spark-source": spark_source.by_program,
    "spark-source-executors": executors.by_program,
    **database.PROGRAMS,
    lakehouse.UPSERT: lakehouse.upsert_by_program,
}
"""Cases that Java does not have, which are compared with a plain program."""
BESIDE = {f"{side}-{format}": f"{side}-avro" for side in ("source", "sink") for format in formats.WITHOUT_JAVA}
"""Cases compared with another case of Penstock, since Java's converters for them are not available."""
OF_JARS = (*beside_debezium.CASES, *jars.CASES, *lakehouse.CASES)
"""Cases for which the bench starts separate workers."""
