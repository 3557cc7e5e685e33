"""The ``sql`` of a configuration that is validated, judged by the application of queries while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plugins import Plugins
from penstock.settings import WorkerSettings
from penstock.worker.configuration.permissions import JudgeSql, WorkerPermissions
from support.kafka.client import Kafka
from support.permissions import CATALOG
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Source, make

pytestmark = pytest.mark.security
WORKER = {
    "bootstrap.servers": "h:1",
    "offset.storage.file.filename": "/tmp/offsets",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "penstock.spark.functions.allowed": "uuid",
}
HOSTILE = (
    "SELECT reflect('java.lang.System', 'exit', '1') FROM records",
    "SELECT * FROM text.`/etc/passwd`",
    "FROM records |> WHERE id IN (SELECT 1 FROM csv.`/etc/passwd`)",
    "FROM records |> SELECT java_method('java.lang.Runtime', 'getRuntime')",
    "SET spark.x=1",
    "SELECT 1; SELECT 2",
    "SELECT from_xml(name, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) FROM records",
    'SELECT from_json(name, \'{"type":"udt","class":"x"}\') FROM records',
    "SELECT sum(id) OVER w FROM records WINDOW w AS (ORDER BY (SELECT 1 FROM parquet.`/etc`))",
    "CREATE TABLE x AS SELECT * FROM records",
    "INSERT INTO x SELECT * FROM records",
    "SELECT * FROM other",
    "SELEC",
)


@pytest.mark.integration
@pytest.mark.slow
def test_hostile_statements_are_refused_and_others_are_not(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    with Source(hosted, kafka, tmp_path, schema=COLUMNS) as one:
        one.add("1.json", *make(0, 1))
        one.start()
        one.wait(1)
        judged = {sql: hosted.judge_sql(sql, [], []) for sql in HOSTILE}
        assert [sql for sql, problem in judged.items() if problem is None] == []
        assert judged[HOSTILE[0]] is not None
        assert "the function reflect is not allowed" in judged[HOSTILE[0]]
        assert all("\n" not in problem for problem in judged.values() if problem)
        assert hosted.judge_sql("SELECT id + 1, upper(name) AS n FROM records WHERE id > 3", [], []) is None
        assert hosted.judge_sql("FROM records |> WHERE id > 3 |> SELECT id", [], []) is None


def permissions(judge: JudgeSql) -> WorkerPermissions:
    return WorkerPermissions.of(WorkerSettings.standalone_of(WORKER), Plugins(), judge_sql=judge)


@pytest.mark.parametrize("connector", ["SparkSink", "SparkSource"])
def test_what_spark_says_is_a_problem_of_the_setting(connector: str) -> None:
    asked = []

    def judge(sql: str, functions: object, options: object) -> str | None:
        asked.append((sql, functions))
        return "it must be a SELECT from records" if sql == "SET x" else None

    config = {"connector.class": f"penstock.connectors.{connector}", "name": "c", "path": "/tmp/x", "sql": "SET x"}
    assert permissions(judge).problems(CATALOG, config) == [("sql", "it must be a SELECT from records")]
    assert permissions(judge).problems(CATALOG, {**config, "sql": "SELECT 1"}) == []
    assert asked == [("SET x", ("uuid",)), ("SELECT 1", ("uuid",))]
    assert permissions(judge).problems(CATALOG, {**config, "connector.class": "FileStreamSource"}) == []
    assert WorkerPermissions.of(WorkerSettings.standalone_of(WORKER), Plugins()).problems(CATALOG, config) == []
