"""The same rows from the same records on every version of Spark, whatever a ``spark-defaults.conf`` says.

``golden/same_results.json`` was written on Spark 4.2 by ``pytest --rewrite``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from penstock.spark.same_results import SAME_RESULTS
from penstock.spark.settings import HostSettings
from support.kafka.client import Kafka
from support.spark.host import Hosted, started
from support.spark.queries import Sink, Source

pytestmark = [pytest.mark.integration, pytest.mark.slow]

GOLDEN = Path(__file__).parent / "golden" / "same_results.json"
OTHERS = {
    **dict.fromkeys(SAME_RESULTS, "LEGACY"),
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.pandas.convertToArrowArraySafely": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.caseSensitive": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.speculation": "true",
}
"""Values with which each of the settings changes results."""
DEFAULTS = "".join(f"{key} {value}\n" for key, value in OTHERS.items())
LOGICAL = "org.apache.kafka.connect.data."
FIELDS: list[dict[str, Any]] = [
    {"field": "id", "type": "int32"},
    {"field": "small", "type": "int8"},
    {"field": "big", "type": "int64"},
    {"field": "ratio", "type": "float"},
    {"field": "price", "type": "bytes", "name": f"{LOGICAL}Decimal", "parameters": {"scale": "2"}},
    {"field": "flag", "type": "boolean"},
    {"field": "name", "type": "string"},
    {"field": "data", "type": "bytes"},
    {"field": "day", "type": "int32", "name": f"{LOGICAL}Date"},
    {"field": "at", "type": "int64", "name": f"{LOGICAL}Timestamp"},
    {"field": "tags", "type": "array", "items": {"type": "string", "optional": True}},
    {"field": "counts", "type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}},
    {"field": "place", "type": "struct", "fields": [{"field": "lat", "type": "double", "optional": True}]},
]
SCHEMA = {"type": "struct", "fields": [{**each, "optional": True} for each in FIELDS]}
RECORDS: list[dict[str, Any]] = [
    {
        "id": 1,
        "small": -128,
        "big": 2**62,
        "ratio": 0.1,
        "price": "MDk=",
        "flag": True,
        "name": "Zoë \U0001f600",
        "data": "AP8=",
        "day": -200_000,  # before the calendar was changed
        "at": -12_345_678_901_234,
        "tags": ["a", None, ""],
        "counts": {"x": 1},
        "place": {"lat": 51.5},
    },
    {name["field"]: 2 if name["field"] == "id" else None for name in FIELDS},
    {
        **{name["field"]: None for name in FIELDS},
        "id": 3,
        "day": 19_000,
        "at": 1_700_000_000_123,
        "tags": [],
        "counts": {},
        "place": {"lat": None},
    },
]
SQL = (
    f"SELECT {', '.join(each['field'] for each in FIELDS)}, coalesce(id, '7') AS same_type, size(tags) AS number, "
    "date_format(at, 'yyyy-MM-dd HH:mm:ss.SSS') AS text, try_cast(name AS INT) AS none, id / 2 AS half, "
    "cast(price AS STRING) AS cents, array(id, small) AS pair FROM records"
)


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    """A Spark whose ``spark-defaults.conf`` would change results."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(folder))
        with started(HostSettings(graceful=60.0)) as spark:
            yield spark


def test_defaults_of_a_cluster_do_not_override_settings_of_results(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    given = {"spark.sql.ansi.enabled": "false"}
    code = (
        "import json, os\n"
        "from penstock.spark.java import spark_java\n"
        "os.environ['JAVA_HOME'] = str(spark_java().home)\n"
        "from pyspark import SparkContext\n"
        "from penstock.spark.settings import HostSettings, with_defaults\n"
        "SparkContext._ensure_initialized()\n"
        f"conf = with_defaults(HostSettings(query_spark={given}).query_conf(), queries=True)\n"
        "print(json.dumps(dict(conf.getAll())))\n"
    )
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout)
    assert {key: found.get(key) for key in SAME_RESULTS} == {**SAME_RESULTS, **given}


def test_the_same_records_become_the_same_rows_and_the_same_records_again(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    topic = kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", sql=SQL, **{"value.converter.schemas.enable": "true"}) as sink:
        sink.produce(*({"schema": SCHEMA, "payload": each} for each in RECORDS))
        sink.start()
        rows = sorted(sink.wait(len(RECORDS)), key=lambda row: row["id"])
        sink.written(len(RECORDS))
    files = ds.dataset(tmp_path / "table", format="parquet")
    columns = [[each.name, str(each.type)] for each in files.schema]
    declared = ", ".join(f"{name} {kind}" for name, kind in READ.items())
    config = {"format": "parquet", "path": str(tmp_path / "table"), "schema": declared}
    with Source(hosted, kafka, tmp_path, **config) as source:
        source.start()
        records = sorted(source.wait(len(RECORDS)), key=lambda record: record["id"])
    found = json.loads(json.dumps({"columns": columns, "rows": rows, "records": records}, default=_text))
    if pytestconfig.getoption("rewrite"):
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(GOLDEN.read_text())


READ = {
    "id": "INT",
    "big": "BIGINT",
    "ratio": "FLOAT",
    "flag": "BOOLEAN",
    "name": "STRING",
    "data": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
    "tags": "ARRAY<STRING>",
    "place": "STRUCT<lat: DOUBLE>",
    "half": "DOUBLE",
}


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
