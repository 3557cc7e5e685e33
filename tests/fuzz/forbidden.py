"""Configurations that must be refused, for every known kind of attack; the same for the same seed.

``ALLOWED`` in a text stands for the folder of ``penstock.paths.allowed``, which has links to places outside of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fuzz.forbidden_texts import (
    AROUND,
    EXPRESSIONS,
    FILE_SETTINGS,
    HADOOP_PLACES,
    JAAS,
    PLACES,
    SIMPLE,
    STATEMENTS,
    URLS,
)
from penstock.core.config.permissions.clients import REFUSED
from penstock.core.model.limits import MAX_NAME_BYTES, MAX_TASKS
from penstock.http.bodies import MAX_SETTINGS

INTERNAL = ("connect-configs", "connect-offsets", "connect-status", "connect-configs-history", "connect-audit")
"""Topics of the target's worker."""
DENIED = "other-group-7"
KEEPER, OWN_OFFSETS = "keeper", "keeper-offsets"
"""A connector that is never changed, and its offsets topic."""
OF_KAFKA = ("__consumer_offsets", "__transaction_state")
GROUP = "the-group"
_KAFKA = "org.apache.kafka.connect"
BROKERS = "127.0.0.1:9"
"""``bootstrap.servers`` of the target's worker, where nothing listens."""
SOURCE = {"connector.class": "FileStreamSource", "topic": "t", "file": "ALLOWED/x"}
SINK = {"connector.class": "FileStreamSink", "topics": "t", "file": "ALLOWED/x"}
SPARK_SINK = {"connector.class": "penstock.connectors.SparkSink", "topics": "t", "path": "ALLOWED/x"}
SPARK_SOURCE = {
    "connector.class": "penstock.connectors.SparkSource",
    "topic": "t",
    "path": "ALLOWED/x",
    "checkpoint.location": "ALLOWED/c",
    "schema": "a INT",
}
JDBC_SOURCE = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
    "topic.prefix": "t-",
    "mode": "bulk",
    "connection.url": "jdbc:postgresql://h/db",
}
JDBC_SINK = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
    "topics": "t",
    "connection.url": "jdbc:postgresql://h/db",
}
POSTGRES = {
    "connector.class": "penstock.connectors.PostgresSource",
    "topic.prefix": "t",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}
MIRROR = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "a",
    "target.cluster.alias": "b",
    "source.cluster.bootstrap.servers": BROKERS,
    "target.cluster.bootstrap.servers": BROKERS,
}
ALL = (SOURCE, SINK, SPARK_SINK, SPARK_SOURCE, JDBC_SOURCE, JDBC_SINK, POSTGRES, MIRROR)
SINKS = (SINK, SPARK_SINK, JDBC_SINK)
PRODUCERS = (SOURCE, SPARK_SOURCE, JDBC_SOURCE, POSTGRES)


@dataclass(frozen=True, slots=True)
class Attack:
    """A configuration that must be refused, by a message that names one of ``keys``."""

    kind: str
    config: Mapping[str, str]
    keys: tuple[str, ...]
    name: str | None = None
    """Name of the connector, if it is part of the attack."""


def attack_of(chance: random.Random, spark: bool = False) -> Attack:
    """Return an attack of any kind; of ``sql`` if there is a Spark that judges it."""
    return chance.choice([*KINDS, *([_sql] * 4 if spark else [])])(chance)


def _attack(kind: str, base: Mapping[str, str], more: Mapping[str, str], *keys: str) -> Attack:
    return Attack(kind, {**base, **more}, keys or tuple(more))


def _padded(chance: random.Random, text: str) -> str:
    return chance.choice(["{}", "{}", "{}", " {}", "{} ", "\t{}\n"]).format(text)


def _cased(chance: random.Random, text: str) -> str:
    return chance.choice([text, text.upper(), "".join(chance.choice([each.upper(), each.lower()]) for each in text)])


# -- topics, groups and clients of workers


def _topic(chance: random.Random) -> Attack:
    readable = (*INTERNAL, DENIED, OWN_OFFSETS)
    read, written = chance.choice(readable), chance.choice([*readable, *OF_KAFKA])
    padded = _padded(chance, written)
    listed = chance.choice(["{}", "a,{}", "{},a", " {} ,b", "a,,{}"]).format(read)
    exact = chance.choice(["{}", "^{}$", "\\Q{}\\E", "^\\Q{}\\E$"]).format(
        read if chance.random() < 0.5 else read.replace("-", "\\-")
    ).replace("\\Q" + read.replace("-", "\\-"), "\\Q" + read)  # fmt: skip
    kafka = {"format": "kafka", "option.kafka.bootstrap.servers": BROKERS}
    of_spark = {key: value for key, value in SPARK_SOURCE.items() if key != "path"}
    routed = {"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter"}
    cases: list[tuple[Mapping[str, str], dict[str, str], tuple[str, ...]]] = [
        (chance.choice(SINKS), {"topics": listed}, ("topics",)),
        (chance.choice(SINKS), {"errors.deadletterqueue.topic.name": padded}, ()),
        (SOURCE, {"topic": padded}, ()),
        (
            chance.choice(PRODUCERS),
            {**routed, "transforms.r.regex": ".*", "transforms.r.replacement": written},
            ("transforms.r.replacement",),
        ),
        (MIRROR, {"topics": listed}, ("topics",)),
        (of_spark, kafka | {_option(chance, "subscribe"): listed}, ("option.",)),
        (of_spark, kafka | {_option(chance, "assign"): f'{{"{read}":[0]}}'}, ("option.",)),
        (of_spark, kafka | {_option(chance, "subscribePattern"): exact}, ("option.",)),
        (
            {key: value for key, value in SPARK_SINK.items() if key != "path"},
            kafka | {_option(chance, "topic"): written},
            ("option.",),
        ),
        (
            chance.choice(PRODUCERS),
            {"offsets.storage.topic": chance.choice([each for each in INTERNAL if each != "connect-offsets"])},
            (),
        ),
    ]
    base, more, keys = chance.choice(cases)
    return _attack("internal topic", base, more, *keys)


def _topic_pattern(chance: random.Random) -> Attack:
    base = {key: value for key, value in chance.choice(SINKS).items() if key != "topics"}
    read = chance.choice([*INTERNAL, DENIED, OWN_OFFSETS])
    pattern = chance.choice(["{}", "^{}$", "\\Q{}\\E"]).format(read)
    return _attack("internal topic by a pattern", base, {"topics.regex": pattern})


def _client(chance: random.Random) -> Attack:
    sink, source = chance.choice(SINKS), chance.choice(PRODUCERS)
    base, more = chance.choice(
        [
            (sink, {"consumer.override.group.id": GROUP}),
            (source, {"producer.override.transactional.id": f"connect-cluster-{GROUP}"}),
            (source, {"producer.override.transactional.id": f"{GROUP}-{KEEPER}-0"}),
            (source, {"producer.override.client.id": "__admin_client"}),
            (sink, {"consumer.override.client.id": "__admin_client"}),
        ]
    )
    return _attack("a worker's group, name or transactional ID", base, more, *more, "Consumer group")


def _client_setting(chance: random.Random) -> Attack:
    prefix = chance.choice(["producer.override.", "consumer.override.", "admin.override."])
    name = chance.choice([*sorted(REFUSED), "ssl.engine.pem.path", "config.providers.file.class", "error_cb"])
    return _attack("a setting of a client", chance.choice(ALL), {prefix + name: "x"})


def _java_setting(chance: random.Random) -> Attack:
    name, value = chance.choice(
        [
            ("interceptor.classes", "org.example.Evil"),
            ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter,org.example.Evil"),
            ("sasl.login.callback.handler.class", "org.example.Evil"),
            ("sasl.jaas.config", "com.sun.security.auth.module.JndiLoginModule required user.provider.url=ldap://h;"),
            ("sasl.jaas.config", "org.example.Evil required;"),
            ("sasl.oauthbearer.assertion.file", "ALLOWED/x"),
        ]
    )
    return _attack("a class for Spark's clients", SPARK_SINK, {f"consumer.override.{name}": value})


# -- paths


def _path(chance: random.Random) -> Attack:
    base, key, places = chance.choice(
        [
            (SOURCE, "file", PLACES),
            (SINK, "file", PLACES),
            (SPARK_SINK, "path", HADOOP_PLACES),
            (SPARK_SINK, "path", ("ALLOWED/*", "ALLOWED/a?", "ALLOWED/[ab]")),
            (SPARK_SOURCE, "path", HADOOP_PLACES),
            (SPARK_SOURCE, "checkpoint.location", HADOOP_PLACES),
            (POSTGRES, "database.sslrootcert", PLACES),
            (POSTGRES, "database.sslkey", PLACES),
        ]
    )
    return _attack("a path", base, {key: chance.choice(places)})


def _file_setting(chance: random.Random) -> Attack:
    kind = chance.random()
    if kind < 0.6:
        place = chance.choice(SIMPLE)
        return _attack("a file of a setting", chance.choice(ALL), {chance.choice(FILE_SETTINGS): place})
    if kind < 0.8:
        key = chance.choice(
            ["producer.override.sasl.jaas.config", "source.cluster.sasl.jaas.config", "sasl.jaas.config"]
        )
        return _attack("a file of JAAS", SOURCE, {key: chance.choice(JAAS).format(chance.choice(SIMPLE[:-1]))})
    key = chance.choice(["consumer.override.sasl.oauthbearer.jwks.endpoint.url", "a.url", "schema.registry.url"])
    url = chance.choice(["file:/etc/x", "FiLe:///etc/x", "url:file:/etc/x", "jar:file:/etc/x.jar!/y", "netdoc:/etc/x",
                         "https://h,file:/etc/x", "jar:nested:/etc/x.jar!/y", "zip:file:/etc/x"])  # fmt: skip
    return _attack("a URL of a file", chance.choice((SOURCE, SINK, POSTGRES)), {key: url})


def _socket(chance: random.Random) -> Attack:
    return _attack("a socket", POSTGRES, {"database.hostname": chance.choice(["/etc", "@x", "h,/run/x"])})


# -- Spark


def _option(chance: random.Random, name: str) -> str:
    return "option." + _cased(chance, name)


def _spark_option(chance: random.Random) -> Attack:
    format = chance.choice(["parquet", "orc", "json", "csv", "text", "xml", "avro", "delta", "iceberg", "hudi"])
    name = chance.choice(["fs.viewfs.mounttable.x.link./a", "fs.s3a.endpoint", "path", "paths", "badRecordsPath",
                          "rowValidationXSDPath", "avroSchemaUrl", "basePath",
                          "hadoop.security.credential.provider.path",
                          "fs.file.impl", "parquet.read.support.class", "mapreduce.output.committer.factory.class",
                          "replaceWhere", "schemaTrackingLocation", "checkpointLocation", "no.such.option",
                          "spark.x", "sourceArchiveDir", " path"])  # fmt: skip
    option = _option(chance, name)
    value = chance.choice(["/etc", "file:/etc", "org.example.Evil"])
    return _attack("an option", chance.choice((SPARK_SINK, SPARK_SOURCE)), {"format": format, option: value}, option)


def _codec(chance: random.Random) -> Attack:
    return _attack("a class as codec", SPARK_SINK, {"format": "csv", "option.codec": "org.example.Evil"})


def _format(chance: random.Random) -> Attack:
    format = chance.choice(["org.example.Evil", "socket",
                            "org.apache.spark.sql.execution.datasources.text.TextFileFormat",
                            "com.databricks.spark.csv", "image", "noop", "console", "pickle"])  # fmt: skip
    return _attack("a format", chance.choice((SPARK_SINK, SPARK_SOURCE)), {"format": format})


def _table(chance: random.Random) -> Attack:
    table = chance.choice(["delta.`/etc`", "parquet.`/etc`", " csv . `file:/etc`", "iceberg.`s3a://b/x`", "`/etc`"])
    base = {key: value for key, value in SPARK_SINK.items() if key != "path"}
    return _attack("a table that is a folder", base, {"format": "delta", "table": table})


def _sql(chance: random.Random) -> Attack:
    if chance.random() < 0.3:
        statement = chance.choice(STATEMENTS)
    else:
        expression = chance.choice(EXPRESSIONS)
        for _ in range(chance.choice([0, 0, 1, 2])):
            expression = chance.choice(["coalesce({}, 1)", "({})", "array({})[0]", "if(true, {}, 1)"]).format(
                expression
            )
        statement = chance.choice(AROUND).format(*[expression] * 2)
    statement = chance.choice(["{}", " {}", "/* a */ {}", "-- a\n{}", "{} -- b"]).format(statement)
    return _attack("sql", chance.choice((SPARK_SINK, SPARK_SOURCE)), {"sql": statement})


# -- databases


def _jdbc(chance: random.Random) -> Attack:
    url = _padded(chance, chance.choice(URLS).format("canary7f3a-jdbc"))
    if chance.random() < 0.7:
        return _attack("a JDBC URL", chance.choice((JDBC_SOURCE, JDBC_SINK)), {"connection.url": url})
    base = {key: value for key, value in chance.choice((SPARK_SINK, SPARK_SOURCE)).items() if key != "path"}
    given = {"format": "jdbc", "option.dbtable": "t", _option(chance, "url"): url}
    return _attack("a JDBC URL of Spark's", base, given, "option.", "format")


def _jdbc_property(chance: random.Random) -> Attack:
    url, names = chance.choice(
        [
            ("jdbc:postgresql://h/d", ("socketFactory", "SSLFACTORY", "loggerFile", "service", "jaasApplicationName")),
            (
                "jdbc:mysql://h/d",
                ("autoDeserialize", "allowLoadLocalInfile", "queryInterceptors", "propertiesTransform"),
            ),
            ("jdbc:oracle:thin:@h:1:x", ("oracle.jdbc.config.file", "oracle.jdbc.provider.password")),
            ("jdbc:sqlserver://h", ("trustManagerClass", "socketFactoryClass", "accessTokenCallbackClass")),
        ]
    )
    key = f"connection.{chance.choice(names)}"
    return _attack("a JDBC property", chance.choice((JDBC_SOURCE, JDBC_SINK)), {"connection.url": url, key: "x"}, key)


def _statement(chance: random.Random) -> Attack:
    url, query = chance.choice(
        [
            ("jdbc:sqlite:ALLOWED/x", "ATTACH '/etc/x' AS y"),
            ("jdbc:sqlite:ALLOWED/x", "SELECT load_extension('/x')"),
            ("jdbc:sqlite:ALLOWED/x", "SELECT 1; ATTACH '/etc/x' AS y"),
            ("jdbc:duckdb:ALLOWED/x", "SELECT * FROM read_csv('/etc/passwd')"),
            ("jdbc:derby:ALLOWED/x", "CALL SYSCS_UTIL.SYSCS_EXPORT_TABLE(null, 'X', '/x', null, null, null)"),
        ]
    )
    return _attack("a statement", JDBC_SOURCE, {"connection.url": url, "query": query}, "query")


# -- code and programs


def _code(chance: random.Random) -> Attack:
    python = {"transforms": "f", "transforms.f.type": "penstock.transforms.PythonFunction"}
    name = chance.choice(
        ["os:system", "subprocess:Popen", "builtins:eval", "posix:system", "os.path:join", "code:interact"]
    )
    base, more, keys = chance.choice(
        [
            (chance.choice(ALL), {**python, "transforms.f.function": name}, ("transforms.f.function",)),
            (MIRROR, {"replication.policy.class": name.replace(":", ".")}, ("replication.policy.class",)),
            (MIRROR, {"topic.filter.class": "org.example.Evil"}, ("topic.filter.class",)),
            (MIRROR, {"connector.class": f"{_KAFKA}.mirror.MirrorHeartbeatConnector"}, ("connector.class",)),
            (chance.choice(ALL), {"transforms": "h", "transforms.h.type": f"{_KAFKA}.transforms.HoistField$Key",
                                  "transforms.h.field": "x"}, ("transforms.h.type",)),
            ({"connector.class": "penstock.connectors.SingerSource", "topic": "t"},
             {"singer.tap": chance.choice(["/bin/sh", "sh", "/usr/bin/../bin/env"])}, ()),
            ({"connector.class": "penstock.connectors.SingerSink", "topics": "t"}, {"singer.target": "/bin/sh"}, ()),
            ({"connector.class": "penstock.connectors.DltSource", "topic": "t"}, {"dlt.source": "os:system"}, ()),
            ({"connector.class": "penstock.connectors.DltSource", "topic": "t"},
             {"dlt.source": "x:y", "dlt.python": "/bin/sh"}, ()),
        ]
    )  # fmt: skip
    return _attack("code", base, more, *keys)


# -- sizes and characters


def _size(chance: random.Random) -> Attack:
    match chance.randrange(5):
        case 0:
            letter = chance.choice(["n", "ä", "😀"])
            name = letter * (MAX_NAME_BYTES // len(letter.encode()) + 1 + chance.choice([0, 1, 500, 2000]))
            return Attack("a long name", dict(SOURCE), ("name",), name)
        case 1:
            tasks = chance.choice([MAX_TASKS + 1, 2**31 - 1])
            return _attack("tasks", chance.choice(ALL), {"tasks.max": str(tasks)})
        case 2:
            more = {f"x{number}": "" for number in range(MAX_SETTINGS + 1)}
            return _attack("settings", SOURCE, more, str(MAX_SETTINGS), f"{MAX_SETTINGS:,}")
        case 3:
            names = [f"t{number}" for number in range(501)]
            return _attack("transforms", SOURCE, {"transforms": ",".join(names)}, "transforms")
        case _:
            return _attack("a large configuration", SOURCE, {"x": "v" * 1_100_000}, "max.request.size", "bytes")


def _characters(chance: random.Random) -> Attack:
    bad = chance.choice(["\x1b[2J", "\r\n", "\n", "\0", "\x7f", "\x9b31m", "\x07"])
    name = f"team-{bad}[2026-01-01 00:00:00,000] INFO forged"
    return Attack("a name of control characters", dict(SOURCE), ("name", "control"), name)


KINDS: tuple[Callable[[random.Random], Attack], ...] = (
    _topic, _topic, _topic, _topic_pattern, _client, _client_setting, _java_setting, _path, _path, _path, _file_setting,
    _file_setting, _socket, _spark_option, _spark_option, _codec, _format, _table, _jdbc, _jdbc, _jdbc_property,
    _statement, _code, _size, _characters,
)  # fmt: skip


def placed(value: Any, folder: str) -> Any:
    """Return a value with the folder in place of ALLOWED."""
    return value.replace("ALLOWED", folder) if isinstance(value, str) else value


def kinds() -> Iterator[str]:
    """Yield the names of all kinds of attacks."""
    chance = random.Random(0)
    yield from sorted({attack_of(chance).kind for _ in range(3000)})
