"""Data sets that a connector reads and writes, by their names in OpenLineage.

Topics are known from its task; what is on the other side follows from its configuration, for the connectors of
Penstock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from penstock.core.config.secrets import MASK, without_passwords

Config = Mapping[str, str]
PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "sqlserver": 1433, "oracle": 1521}
SCHEMES = {"postgresql": "postgres", "mariadb": "mysql", "sqlserver": "mssql", "s3a": "s3", "s3n": "s3"}
_AUTHORITY = re.compile(
    r"(?:jdbc:)?(?P<kind>\w+):(?:thin:@?)?//(?:[^@/;?]*@)?(?P<host>[^/:;?,]+)(?::(?P<port>\d+))?(?P<rest>.*)"
)
_IN_PARAMETERS = re.compile(r";\s*database(?:Name)?=([^;]+)", re.IGNORECASE)


class Dataset(NamedTuple):
    namespace: str
    name: str


class Datasets(NamedTuple):
    inputs: list[Dataset]
    outputs: list[Dataset]


def datasets(kind: str, class_name: str, config: Config, cluster: str, topics: Collection[str]) -> Datasets:
    """Return the data sets of a connector of this kind and class.

    ``topics`` are those it has used, ``cluster`` the worker's brokers.
    """
    client = "producer" if kind == "source" else "consumer"
    brokers = config.get(f"{client}.override.bootstrap.servers", cluster)
    used = [topic(brokers, each) for each in sorted(topics)]
    other = _OTHERS.get(class_name)
    found = [] if other is None else sorted(set(other(config, sorted(topics))))
    return Datasets(found, used) if kind == "source" else Datasets(used, found)


def named_topics(config: Config) -> set[str]:
    """Return the topics that a sink's configuration names."""
    return {name for each in config.get("topics", "").split(",") if (name := each.strip())}


def topic(brokers: str, name: str) -> Dataset:
    """Return a topic as a data set; the first broker names the cluster."""
    return Dataset(f"kafka://{brokers.split(',')[0].strip().rpartition('://')[2]}", name)


def path(text: str) -> Dataset:
    """Return the data set of a file or folder, given as Spark's URI or as a plain path."""
    scheme, found, rest = _public(text).partition("://")
    if not found or scheme == "file":
        plain = text.removeprefix("file:")
        return Dataset("file", str(Path("/" + plain.lstrip("/") if text.startswith("file:") else plain).absolute()))
    authority, _, key = rest.partition("/")
    place = f"{SCHEMES.get(scheme, scheme)}://{authority}"
    return Dataset(place, f"/{key}" if scheme in ("hdfs", "webhdfs") else key or "/")


def table(url: str, name: str) -> Dataset:
    """Return a table as a data set of the database at this JDBC URL."""
    url = _public(url)
    parts = _AUTHORITY.match(url)
    if parts is None:
        return Dataset(re.split(r"[?;]", url)[0], name)
    kind, rest = parts["kind"], parts["rest"]
    port = parts["port"] or PORTS.get(kind, "")
    parameter = _IN_PARAMETERS.search(rest)
    database = parameter[1] if parameter else re.split(r"[?;:]", rest.lstrip("/"))[0]
    namespace = f"{SCHEMES.get(kind, kind)}://{parts['host']}" + (f":{port}" if port else "")
    plain = name.replace('"', "").replace("`", "")
    return Dataset(namespace, plain if not database or plain.startswith(f"{database}.") else f"{database}.{plain}")


def _public(url: str) -> str:
    """Remove users with passwords from a URL; names without passwords stay, such as the container of ``abfss``."""
    return without_passwords(url).replace(f"{MASK}@", "")


def _file(config: Config, topics: Iterable[str]) -> list[Dataset]:
    return [path(file)] if (file := config.get("file", "")) else []


def _jdbc_sink(config: Config, topics: Iterable[str]) -> list[Dataset]:
    form = config.get("table.name.format", "${topic}")
    return [table(config.get("connection.url", ""), form.replace("${topic}", each)) for each in topics]


def _jdbc_source(config: Config, topics: Iterable[str]) -> list[Dataset]:
    """Return the tables after which the topics are named, unless the connector has a query."""
    if config.get("query", "").strip() or config.get("query.masked", "").strip():
        return []
    prefix = config.get("topic.prefix", "")
    return [table(config.get("connection.url", ""), name) for name in _without(f"{prefix}", topics)]


def _postgres(config: Config, topics: Iterable[str]) -> list[Dataset]:
    host, port = config.get("database.hostname", ""), config.get("database.port", "5432")
    url = f"postgresql://{host}:{port}/{config.get('database.dbname', '')}"
    return [table(url, name) for name in _without(f"{config.get('topic.prefix', '')}.", topics)]


def _mirror(config: Config, topics: Iterable[str]) -> list[Dataset]:
    brokers = config.get("source.cluster.bootstrap.servers", "")
    separator = config.get("replication.policy.separator", ".")
    identity = config.get("replication.policy.class", "").endswith("IdentityReplicationPolicy")
    prefix = "" if identity else f"{config.get('source.cluster.alias', '')}{separator}"
    return [topic(brokers, name) for name in _without(prefix, topics)]


def _spark(config: Config, topics: Iterable[str]) -> list[Dataset]:
    if tables := config.get("iceberg.tables"):
        return [_iceberg(config, name) for each in tables.split(",") if (name := each.strip())]
    if config.get("path"):
        return [path(config["path"])]
    if config.get("table"):
        return [Dataset("spark", config["table"])]
    options = {
        name.removeprefix("option.").lower(): value for name, value in config.items() if name.startswith("option.")
    }
    if "dbtable" in options:
        return [table(options.get("url", ""), options["dbtable"])]
    names = options.get("topic") or options.get("subscribe") or ""
    brokers = options.get("kafka.bootstrap.servers", "")
    return [topic(brokers, name.strip()) for name in names.split(",") if name.strip() and brokers]


def _iceberg(config: Config, name: str) -> Dataset:
    """Return a table as a data set of its catalog, by the address of it without users and passwords."""
    uri = config.get("iceberg.catalog.uri", "")
    return Dataset(_public(uri.partition("?")[0]) or config.get("iceberg.catalog", "iceberg"), name)


def _without(prefix: str, topics: Iterable[str]) -> list[str]:
    """Yield the names that begin with the prefix, without it: a transform may have renamed others."""
    return [name.removeprefix(prefix) for name in topics if name.startswith(prefix) and name != prefix]


_OTHERS: dict[str, Callable[[Config, Iterable[str]], list[Dataset]]] = {
    "org.apache.kafka.connect.file.FileStreamSourceConnector": _file,
    "org.apache.kafka.connect.file.FileStreamSinkConnector": _file,
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": _mirror,
    "io.confluent.connect.jdbc.JdbcSinkConnector": _jdbc_sink,
    "io.confluent.connect.jdbc.JdbcSourceConnector": _jdbc_source,
    "penstock.connectors.PostgresSource": _postgres,
    "penstock.connectors.SparkSink": _spark,
    "penstock.connectors.SparkSource": _spark,
}
