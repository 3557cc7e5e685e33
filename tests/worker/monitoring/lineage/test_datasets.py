"""The names of data sets, as OpenLineage's conventions have them."""

from __future__ import annotations

import pytest

from penstock.worker.monitoring.lineage.datasets import Dataset, datasets, named_topics, path, table, topic

JDBC = "io.confluent.connect.jdbc.Jdbc"
FILE = "org.apache.kafka.connect.file.FileStream"


@pytest.mark.parametrize(
    ("text", "namespace", "name"),
    [
        ("/data/in.txt", "file", "/data/in.txt"),
        ("file:/data/t", "file", "/data/t"),
        ("file:///data/t", "file", "/data/t"),
        ("s3a://lake/raw/orders", "s3://lake", "raw/orders"),
        ("gs://lake/raw", "gs://lake", "raw"),
        ("hdfs://nn:8020/raw", "hdfs://nn:8020", "/raw"),
        ("abfss://c@a.dfs.core.windows.net/raw", "abfss://c@a.dfs.core.windows.net", "raw"),
        ("sftp://user:pw@host/x", "sftp://host", "x"),
        ("s3a://key:a/b+c@lake/raw@1", "s3://lake", "raw@1"),
    ],
)
def test_paths(text: str, namespace: str, name: str) -> None:
    assert path(text) == Dataset(namespace, name)


@pytest.mark.parametrize(
    ("url", "name", "dataset"),
    [
        ("jdbc:postgresql://db/shop?user=u&password=p", "public.orders", ("postgres://db:5432", "shop.public.orders")),
        ("jdbc:mariadb://db:3307/shop", "`orders`", ("mysql://db:3307", "shop.orders")),
        ("jdbc:mysql://u:p@db/shop", "shop.orders", ("mysql://db:3306", "shop.orders")),
        ("jdbc:sqlserver://db;databaseName=shop;user=u", "dbo.orders", ("mssql://db:1433", "shop.dbo.orders")),
        ("jdbc:oracle:thin:@//db:1521/pdb", "SHOP.ORDERS", ("oracle://db:1521", "pdb.SHOP.ORDERS")),
        ("jdbc:oracle:thin:app/p@ss@//db:1521/pdb", "SHOP.ORDERS", ("oracle://db:1521", "pdb.SHOP.ORDERS")),
        ("jdbc:oracle:thin:app/pass@db:1521:sid", "ORDERS", ("jdbc:oracle:thin:db:1521:sid", "ORDERS")),
        ("jdbc:mysql://u:p@ss@db/shop", "orders", ("mysql://db:3306", "shop.orders")),
        ("jdbc:mysql+srv://u:p@ss@db/shop;x=y", "orders", ("jdbc:mysql+srv://db/shop", "orders")),
        ("jdbc:db2://h:50000/db:user=u;password=p;", "S.ORDERS", ("db2://h:50000", "db.S.ORDERS")),
        ("jdbc:sqlserver://h:14;database=shop;user=me@h;password={a;b}", "orders", ("mssql://h:14", "shop.orders")),
        ("jdbc:sqlite:/data/shop.db", "orders", ("jdbc:sqlite:/data/shop.db", "orders")),
    ],
)
def test_tables(url: str, name: str, dataset: tuple[str, str]) -> None:
    assert table(url, name) == Dataset(*dataset)


def test_a_topic_is_in_the_cluster_of_the_first_broker() -> None:
    assert topic("SASL_SSL://one:9092, two:9092", "t") == Dataset("kafka://one:9092", "t")


@pytest.mark.parametrize(
    ("class_name", "config", "topics", "other"),
    [
        (f"{FILE}SourceConnector", {"file": "/in"}, ["t"], [("file", "/in")]),
        (f"{FILE}SourceConnector", {}, ["t"], []),
        (
            f"{JDBC}SourceConnector",
            {"connection.url": "jdbc:postgresql://db/shop", "topic.prefix": "pg-"},
            ["pg-orders", "renamed"],
            [("postgres://db:5432", "shop.orders")],
        ),
        (f"{JDBC}SourceConnector", {"connection.url": "jdbc:x", "query": "SELECT 1", "topic.prefix": "q"}, ["q"], []),
        (
            "penstock.connectors.PostgresSource",
            {"database.hostname": "db", "database.dbname": "shop", "topic.prefix": "s"},
            ["s.public.orders"],
            [("postgres://db:5432", "shop.public.orders")],
        ),
        (
            "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            {"source.cluster.alias": "eu", "source.cluster.bootstrap.servers": "eu:9092"},
            ["eu.orders", "mm2-offset-syncs.us.internal"],
            [("kafka://eu:9092", "orders")],
        ),
        ("penstock.connectors.SparkSource", {"path": "s3a://lake/in"}, ["t"], [("s3://lake", "in")]),
        ("a.connector.of.Somebody", {"file": "/in"}, ["t"], []),
    ],
)
def test_sources(class_name: str, config: dict[str, str], topics: list[str], other: list[tuple[str, str]]) -> None:
    found = datasets("source", class_name, config, "k:9092", topics)
    assert found.inputs == [Dataset(*each) for each in other]
    assert found.outputs == [Dataset("kafka://k:9092", each) for each in sorted(topics)]


@pytest.mark.parametrize(
    ("class_name", "config", "other"),
    [
        (f"{FILE}SinkConnector", {"file": "/out"}, [("file", "/out")]),
        (
            f"{JDBC}SinkConnector",
            {"connection.url": "jdbc:postgresql://db/shop", "table.name.format": "raw.${topic}"},
            [("postgres://db:5432", "shop.raw.a"), ("postgres://db:5432", "shop.raw.b")],
        ),
        ("penstock.connectors.SparkSink", {"table": "lake.orders", "format": "delta"}, [("spark", "lake.orders")]),
        (
            "penstock.connectors.SparkSink",
            {"format": "jdbc", "option.url": "jdbc:postgresql://db/shop", "option.dbtable": "orders"},
            [("postgres://db:5432", "shop.orders")],
        ),
        (
            "penstock.connectors.SparkSink",
            {"format": "kafka", "option.kafka.bootstrap.servers": "us:9092", "option.topic": "copy"},
            [("kafka://us:9092", "copy")],
        ),
    ],
)
def test_sinks(class_name: str, config: dict[str, str], other: list[tuple[str, str]]) -> None:
    found = datasets("sink", class_name, {**config, "topics": "a, b"}, "k:9092", named_topics({"topics": "a, b"}))
    assert found.inputs == [Dataset("kafka://k:9092", "a"), Dataset("kafka://k:9092", "b")]
    assert found.outputs == [Dataset(*each) for each in other]


def test_topics_of_another_cluster() -> None:
    found = datasets("sink", "x", {"consumer.override.bootstrap.servers": "far:9092"}, "k:9092", ["t"])
    assert found.inputs == [Dataset("kafka://far:9092", "t")]
