"""Results that differ between the versions of Spark: each test observes one and compares it with what is kept.

``golden/version_differences.json`` has what was observed, by version; ``pytest --rewrite`` on this file writes the
entries of the Spark that it runs on, such as that of ``build/spark-matrix/4.1/bin/python``. ``docs/spark-versions.md``
lists what is not the same on all versions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matrix.differences import GOLDEN, Observed, observed
from penstock.core.model.tasks import TaskEvent, TaskFailed, TaskRunning
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from penstock.spark.versions import release
from support.kafka.client import Kafka
from support.postgres import Postgres, running_server
from support.spark.host import Hosted, started
from support.spark.queries import Query, Sink, Source
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

T = TypeVar("T")

TYPES = {
    "plain types": (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "STRING"),
        *("BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
    ),
    "arrays of texts": ("ARRAY<STRING>",),
    "arrays of bytes": ("ARRAY<BINARY>",),
    "arrays of instants": ("ARRAY<TIMESTAMP>",),
    "arrays of arrays": ("ARRAY<ARRAY<INT>>",),
}
MADE = """
    SELECT format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = 'public.{table}'::regclass AND attnum > 1 ORDER BY attnum
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[Hosted]:
    (driver,) = install("jdbc-postgresql")
    with started(HostSettings(spark={"spark.jars": str(driver)}, graceful=60.0)) as hosted:
        yield hosted


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    yield from running_server()


@pytest.fixture
def compare(pytestconfig: pytest.Config) -> Iterator[Observed]:
    """Takes what the test observes, and compares it with what is kept for this version."""
    found: Observed = {}
    yield found
    assert found
    kept = observed()
    if pytestconfig.getoption("rewrite"):
        kept[release().name] = {**kept.get(release().name, {}), **found}
        GOLDEN.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")
    assert found == {key: kept.get(release().name, {}).get(key) for key in found}


def run(one: Query, done: Callable[[], T]) -> T | str:
    """Start a task and wait for what it does; return that or, as a text, why it has failed."""
    events = one.start(until=(TaskRunning, TaskFailed))  # type: ignore[arg-type]
    return eventually(lambda: _failed(one, events) or done())


def _failed(one: Query, events: list[TaskEvent]) -> str | None:
    events += one.hosted.events.so_far(one.id)
    failed = next((event for event in events if isinstance(event, TaskFailed)), None)
    if failed is None:
        return None
    one.ended()
    condition = re.search(r"\[([A-Z_.]+)\]", failed.trace)
    first = failed.trace.strip().splitlines()[0].removeprefix("pyspark.errors.exceptions.captured.")
    return f"the task fails: {condition[1] if condition else first}"


@pytest.mark.parametrize("kinds", TYPES)
def test_sparksinks_columns_in_postgresql_are_those_observed(
    spark: Hosted, kafka: Kafka, postgres: Postgres, compare: Observed, kinds: str
) -> None:
    table, columns = kinds.replace(" ", "_"), {f"c{number}": kind for number, kind in enumerate(TYPES[kinds])}
    settings = {
        "format": "jdbc",
        "path": "",
        "option.url": postgres.url,
        "option.driver": "org.postgresql.Driver",
        "option.dbtable": table,
        "schema": ", ".join(("id INT", *(f"{name} {kind}" for name, kind in columns.items()))),
    }
    with Sink(spark, kafka, kafka.create_topic(partitions=1), Path("unused"), **settings) as sink:
        sink.produce({"id": 1})
        found = run(sink, lambda: sum(offset for offset, _ in sink.committed().values()) == 1)
    made = [] if isinstance(found, str) else postgres.rows(MADE.format(table=table))
    for number, kind in enumerate(columns.values()):
        title = f"`{kind}` as a column that SparkSink makes in PostgreSQL"
        compare[title] = found if isinstance(found, str) else f"`{made[number][0]}`"
    assert len(compare) == len(columns)


READS = {
    "`CHAR(5)` that SparkSource reads, with a shorter text in a Parquet file": ("name", "CHAR(5)", "ab"),
    "`CHAR(5)` that SparkSource reads, with a longer text in a Parquet file": ("name", "CHAR(5)", "abcdefg"),
    "`VARCHAR(5)` that SparkSource reads, with a longer text in a Parquet file": ("name", "VARCHAR(5)", "abcdefg"),
    "a structure that SparkSource reads, none of whose fields a Parquet file has": (
        "place",
        "STRUCT<lon: DOUBLE>",
        {"lat": 1.5},
    ),
}


@pytest.mark.parametrize("title", READS, ids=["short char", "long char", "long varchar", "missing structure"])
def test_sparksources_values_are_those_observed(
    spark: Hosted, kafka: Kafka, tmp_path: Path, compare: Observed, title: str
) -> None:
    name, kind, value = READS[title]
    with Source(spark, kafka, tmp_path, format="parquet", schema=f"id INT, {name} {kind}") as source:
        pq.write_table(pa.table({"id": pa.array([1], pa.int32()), name: [value]}), source.folder / "one.parquet")
        found = run(source, source.values)
    compare[title] = found if isinstance(found, str) else f"`{json.dumps(found[0][name])}`"
    assert isinstance(found, str) or len(found) == 1
