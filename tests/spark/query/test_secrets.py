"""Secrets of queries on a real Spark are in no command line, environment, page or log of Spark, or file."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock.embedded.ports import free_port
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from spark.query.iceberg.lake_sink import LakeSink
from support.kafka.client import Kafka
from support.process_tree import descendants
from support.spark.host import Hosted, started
from support.spark.jdbc import ID, NAME, JdbcSink
from support.spark.queries import COLUMNS, Sink, Source, make

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CANARY = "canary-7c1f"
"""Prefix of every secret in this file."""
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='%s';"
CLIENTS = {
    "consumer.override.ssl.truststore.password": f"{CANARY}-consumer",
    "consumer.override.sasl.jaas.config": JAAS % f"{CANARY}-jaas",
    "producer.override.ssl.key.password": f"{CANARY}-producer",
    "value.converter.basic.auth.user.info": f"u:{CANARY}-registry",
}
"""Secrets that every connector may have, without effect here."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of all files of Spark and its processes."""
    folder = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setenv("SPARK_LOCAL_DIRS", str(folder))
        yield folder


@pytest.fixture(scope="module")
def ui() -> str:
    return f"http://127.0.0.1:{free_port()}"


LOGGING = """<Configuration><Appenders><File name="all" fileName="{file}">
<PatternLayout pattern="%p %c %m %throwable%n"/></File></Appenders>
<Loggers><Root level="info"><AppenderRef ref="all"/></Root></Loggers></Configuration>"""


def logged(place: Path) -> Path:
    """Log4j configuration that writes all of Spark's lines except debugging to a file."""
    (place / "log4j2.xml").write_text(LOGGING.format(file=place / "spark.log"))
    return place / "log4j2.xml"


@pytest.fixture(scope="module")
def spark(place: Path, ui: str) -> Iterator[Hosted]:
    for name in ("jdbc-postgresql", "jdbc-sqlite"):
        jars = ",".join(map(str, install(name)))
    log = place / "events"
    log.mkdir()
    settings = {
        "spark.ui.enabled": "true",
        "spark.ui.port": ui.rpartition(":")[2],
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.hadoop.fs.s3a.secret.key": f"{CANARY}-hadoop",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logged(place)}",
        "spark.jars": jars,
    }
    with started(HostSettings(query_spark=settings)) as hosted:
        yield hosted


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=900) as answer:
        return answer.read().decode()


def shown(ui: str) -> dict[str, str]:
    """Return the answers of Spark's UI and REST API by URL."""
    (application,) = json.loads(read(f"{ui}/api/v1/applications"))
    base = f"{ui}/api/v1/applications/{application['id']}"
    pages = ["environment", "sql?details=true&planDescription=true&length=1000", "jobs", "stages?details=true"]
    pages += ["executors", "storage/rdd", "allexecutors", "streaming/statistics"]
    urls = [f"{base}/{page}" for page in pages]
    urls += [f"{ui}/{page}/" for page in ("environment", "SQL", "StreamingQuery", "jobs", "stages", "executors")]
    urls += [f"{ui}/SQL/execution/?id={each['id']}" for each in json.loads(read(f"{base}/sql?length=1000"))]
    found = {}
    for url in urls:
        try:
            found[url] = read(url)
        except urllib.error.HTTPError as absent:
            if absent.code != 404:
                raise
    return found


def processes() -> dict[str, bytes]:
    """Return the command lines and environments of this process and its descendants."""
    found = {}
    for process in [psutil.Process(), *descendants(os.getpid())]:
        for what in ("cmdline", "environ"):
            try:
                found[f"{process.pid}/{what}"] = Path(f"/proc/{process.pid}/{what}").read_bytes()
            except OSError:
                continue  # it has ended
    return found


def leaks(spark: Hosted, ui: str, place: Path) -> list[str]:
    """Return the places in which a secret was found, with the text around it."""
    found = []
    for where, text in shown(ui).items():
        found += [f"{where}: …{around}…" for around in around_canaries(text)]
    for name, content in processes().items():
        found += [f"{name}: …{around}…" for around in around_canaries(content.decode(errors="replace"))]
    # ``rglob`` fails when a folder vanishes meanwhile.
    for file in (Path(folder, name) for folder, _, names in os.walk(place) for name in names):
        try:
            content = file.read_bytes() if file.is_file() else b""
        except OSError:
            continue
        found += [f"{file}: …{around}…" for around in around_canaries(content.decode(errors="replace"))]
    return found


def around_canaries(text: str) -> list[str]:
    return re.findall(rf".{{0,60}}{CANARY}.{{0,20}}", text)[:3]


def test_a_sink_by_sparks_writer(spark: Hosted, kafka: Kafka, ui: str, place: Path) -> None:
    file = place / "table.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE things (id INTEGER, name TEXT)")
    options = {
        "format": "jdbc",
        "option.url": f"jdbc:sqlite:{file}?password={CANARY}-url",
        "option.dbtable": "things",
        "option.driver": "org.sqlite.JDBC",
        "option.user": f"{CANARY}-user",
        "option.password": f"{CANARY}-password",
        "option.customKey": f"{CANARY}-custom",
        "schema": COLUMNS,
        "mode": "append",
        **CLIENTS,
    }
    config = {key: value for key, value in options.items() if key != "path"}
    with Sink(spark, kafka, kafka.create_topic(), place / "unused", **{**config, "path": ""}) as one:
        one.produce(*make(0, 10))
        one.start()
        while sum(offset for offset, _ in one.committed().values()) != 10:
            one.fine()
        assert leaks(spark, ui, place) == []


def test_a_sink_that_fails(spark: Hosted, kafka: Kafka, ui: str, place: Path) -> None:
    options = {
        "format": "jdbc",
        "option.url": f"jdbc:sqlite:{place}/absent/table.db?password={CANARY}-url",
        "option.dbtable": "things",
        "option.driver": "org.sqlite.JDBC",
        "option.password": f"{CANARY}-password",
        "schema": COLUMNS,
    }
    with Sink(spark, kafka, kafka.create_topic(), place / "unused", **{**options, **CLIENTS, "path": ""}) as one:
        one.produce(*make(0, 10))
        one.start()
        failure = one.failure()
        assert "sqlite" in failure
        assert "sqlite" in (place / "spark.log").read_text()
        assert leaks(spark, ui, place) == []


def test_a_sink_by_jdbc(spark: Hosted, kafka: Kafka, ui: str, place: Path) -> None:
    settings = {
        "connection.user": f"{CANARY}-jdbc-user",
        "connection.password": f"{CANARY}-jdbc-password",
        "connection.custom": f"{CANARY}-jdbc-custom",
    }
    url = f"jdbc:sqlite:{place}/jdbc.db?password={CANARY}-jdbc-url"
    with JdbcSink(spark, kafka, url, **settings, **CLIENTS) as one:
        one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(10)))
        one.start()
        one.written(10)
        assert leaks(spark, ui, place) == []


def test_a_sink_to_an_iceberg_table(spark: Hosted, kafka: Kafka, ui: str, place: Path) -> None:
    """Executors get what their file system needs."""
    names = ("s3.secret-access-key", "token", "credential")
    secrets = {f"iceberg.catalog.{name}": f"{CANARY}-{name}" for name in names}
    with LakeSink(spark, kafka, kafka.create_topic(), place, schema=COLUMNS, **secrets, **CLIENTS) as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        assert leaks(spark, ui, place) == []


@pytest.mark.parametrize("exactly_once", [True, False])
def test_secrets_of_a_spark_source_do_not_leak(
    spark: Hosted, kafka: Kafka, ui: str, place: Path, tmp_path: Path, exactly_once: bool
) -> None:
    options = {"option.password": f"{CANARY}-source", "option.own": f"{CANARY}-own"}
    with Source(spark, kafka, tmp_path, exactly_once, schema=COLUMNS, **options, **CLIENTS) as one:
        one.add("a.json", *make(0, 10))
        one.start()
        one.wait(10)
        one.batch(0)
        assert leaks(spark, ui, place) == []
