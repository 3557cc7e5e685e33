"""What configurations may do, by the choice of a worker's operator."""

from __future__ import annotations

import contextlib
import ctypes
import re
import sqlite3
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.config.overrides import NONE
from penstock.core.config.permissions.jdbc import jdbc_problem
from penstock.core.config.permissions.programs import PYTHONS_ALLOWED, SOURCES_ALLOWED, TAPS_ALLOWED, TARGETS_ALLOWED
from penstock.core.config.permissions.rules import DEFAULT_FORMATS, Permissions
from penstock.core.config.permissions.statements import sqlite_problem, sqlite_suffix_problem
from penstock.plugins import Plugins
from penstock.settings.paths import path_problem

CATALOG = Plugins().catalog
FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def problems(permissions: Permissions, **config: str) -> dict[str, str]:
    return dict(permissions.problems(CATALOG, {key.replace("__", "."): value for key, value in config.items()}))


def test_by_default_all_plugins_are_allowed() -> None:
    assert problems(Permissions(), connector__class="FileStreamSource", file="/etc/passwd", transforms="a") == {}


@pytest.mark.parametrize("name", ["FileStreamSource", "FileStreamSourceConnector", FILE, f" {FILE} "])
def test_a_class_is_denied_by_any_of_its_names(name: str) -> None:
    denying = Permissions(denied=("org.apache.kafka.connect.file.*",))
    wanted = f"{FILE} is denied by `penstock.plugins.denied` of the worker"
    assert problems(denying, connector__class=name) == {"connector.class": wanted}


def test_every_setting_that_names_a_class() -> None:
    config: Any = {
        "connector__class": "FileStreamSink",
        "key__converter": "org.apache.kafka.connect.json.JsonConverter",
        "value__converter": "StringConverter",
        "header__converter": "SimpleHeaderConverter",
        "transforms": "a, b",
        "transforms__a__type": "RegexRouter",
        "transforms__b__type": "no.such.Class",
        "predicates": "p",
        "predicates__p__type": "TopicNameMatches",
    }
    found = problems(Permissions(plugins=("org.apache.kafka.connect.file.*", "*.json.*")), **config)
    assert set(found) == {
        *("value.converter", "header.converter"),
        *("transforms.a.type", "transforms.b.type", "predicates.p.type"),
    }
    assert all("is not among the plugins that `penstock.plugins.allowed`" in each for each in found.values())


def test_functions() -> None:
    config: Any = {"connector__class": "FileStreamSource", "transforms": "t"}
    config |= {"transforms__t__type": "penstock.transforms.PythonFunction"}
    allowing = Permissions(functions=("shop.*", "lib.clean:one"))
    for name in ("shop.a:b", "shop.a.b", "lib.clean:one", "lib.clean.one"):
        assert problems(allowing, **config, transforms__t__function=name) == {}
    for name in ("os:system", "shops.a:b", "lib.clean:two", "xshop.a:b"):
        assert set(problems(allowing, **config, transforms__t__function=name)) == {"transforms.t.function"}
    assert set(problems(Permissions(), **config, transforms__t__function="shop:a")) == {"transforms.t.function"}


def test_taps() -> None:
    config: Any = {"connector__class": "penstock.connectors.SingerSource"}
    allowing = Permissions(programs={TAPS_ALLOWED: ("/opt/taps/*/bin/tap-*", "/usr/bin/tap-one")})
    for tap in ("/opt/taps/github/bin/tap-github", "/usr/bin/tap-one"):
        assert problems(allowing, **config, singer__tap=tap) == {}
        assert set(problems(Permissions(), **config, singer__tap=tap)) == {"singer.tap"}
    for tap in (
        "/bin/sh",
        "tap-one",
        "/opt/taps/x/bin/tap-/../../../../../bin/sh",
        "/usr/bin/tap-one -c",
        "//usr/bin/tap-one",
    ):
        assert set(problems(allowing, **config, singer__tap=tap)) == {"singer.tap"}, tap


def test_targets() -> None:
    config: Any = {"connector__class": "penstock.connectors.SingerSink"}
    target = "/opt/targets/pg/bin/target-postgres"
    allowing = Permissions(programs={TAPS_ALLOWED: ("/bin/sh",), TARGETS_ALLOWED: ("/opt/targets/*/bin/target-*",)})
    assert problems(allowing, **config, singer__target=target) == {}
    assert set(problems(Permissions(), **config, singer__target=target)) == {"singer.target"}
    for other in ("/bin/sh", "target-postgres", "/opt/targets/../../bin/sh/bin/target-x"):
        assert set(problems(allowing, **config, singer__target=other)) == {"singer.target"}, other


def test_sources_of_dlt() -> None:
    config: Any = {"connector__class": "penstock.connectors.DltSource"}
    sources = ("/opt/dlt/*.py:*", "shop.*:*", "dlt.sources.rest_api:rest_api_source")
    allowing = Permissions(programs={SOURCES_ALLOWED: sources, PYTHONS_ALLOWED: ("/opt/dlt/*/bin/python",)})
    for source in ("/opt/dlt/shop.py:orders", "shop.sources:orders", "dlt.sources.rest_api:rest_api_source"):
        assert problems(allowing, **config, dlt__source=source) == {}
        assert set(problems(Permissions(), **config, dlt__source=source)) == {"dlt.source"}
    for source in ("os:system", "/opt/dlt/../tmp/x.py:f", "/tmp/x.py:f", "dlt.sources.filesystem:filesystem"):
        assert set(problems(allowing, **config, dlt__source=source)) == {"dlt.source"}, source
    config["dlt__source"] = "shop.sources:orders"
    assert problems(allowing, **config, dlt__python="/opt/dlt/shop/bin/python") == {}
    for python in ("/bin/sh", "python", "/opt/dlt/x/../../../bin/python"):
        assert set(problems(allowing, **config, dlt__python=python)) == {"dlt.python"}, python


def test_classes_of_mirror_connectors_are_like_functions() -> None:
    mirror = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    own = "org.apache.kafka.connect.mirror.DefaultTopicFilter"
    assert problems(Permissions(), connector__class=mirror, topic__filter__class=own) == {}
    found = problems(Permissions(), connector__class=mirror, topic__filter__class="os.PathLike")
    assert set(found) == {"topic.filter.class"}


def test_formats() -> None:
    sink = {"connector__class": "penstock.connectors.SparkSink", "path": "/x"}
    assert problems(Permissions(), **sink) == {}
    for format in ("Parquet", "delta", "csv"):
        assert problems(Permissions(), **sink, format=format) == {}
    for format in ("socket", "org.apache.spark.sql.parquet", "console", "my.DataSource"):
        assert set(problems(Permissions(), **sink, format=format)) == {"format"}
    assert set(problems(Permissions(formats=("csv",)), **sink)) == {"format"}
    assert {"jdbc", "kafka"} <= set(DEFAULT_FORMATS)


def test_kafka_as_a_format_obeys_the_override_policy() -> None:
    source: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "kafka"}
    source |= {"option__kafka__bootstrap__servers": "h:1", "option__subscribe": "t"}
    assert problems(Permissions(), **source) == {}
    found = problems(Permissions(policy=NONE), **source)
    assert "'None' policy does not allow 'bootstrap.servers'" in found["option.kafka.bootstrap.servers"]


def test_paths(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    allowed = (str(inside), "s3a://lake/raw", "hdfs:///data")
    for good in ("a", "b/c.txt", ""):
        assert path_problem(f"{inside}/{good}", allowed) is None
        assert path_problem(f"file:{inside}/{good}", allowed) is None
        assert path_problem(f"s3a://lake/raw/{good}", allowed) is None
    for bad in (
        f"{inside}/../outside/x",
        f"{inside}/link/x",
        f"{inside}2",
        f"{inside}/{{a,b}}",
        f"file:{inside}/%2e%2e/outside",
        "s3a://lake/rawer",
        "s3a://other/raw",
        "s3://lake/raw",
        "s3a://lake/raw/../x",
        "/data",
        "passwd",
    ):
        assert path_problem(bad, allowed), bad
    limited = Permissions(path_problem=partial(path_problem, allowed=allowed))
    assert problems(limited, connector__class=FILE, file="/etc/passwd") == {
        "file": "/etc/passwd is not in the folders of `penstock.paths.allowed` of the worker"
    }
    source = {"connector__class": "penstock.connectors.SparkSource", "format": "json"}
    found = problems(limited, **source, path=str(inside), checkpoint__location="/tmp", option__path="/")
    assert set(found) == {"checkpoint.location", "option.path"}
    sink = {"connector__class": "penstock.connectors.SparkSink", "table": "parquet.`/etc`"}
    assert set(problems(limited, **sink)) == {"table"}


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://h/x.sql'",
        "jdbc:H2:mem:x",
        "jdbc:hsqldb:mem:x",
        "jdbc:postgresql://h/db?socketFactory=org.springframework.context.support.ClassPathXmlApplicationContext",
        "jdbc:postgresql://h/db?a=b&SSLFactory=x",
        "jdbc:postgresql://h/db?socket%46actory=x",
        "jdbc:postgresql://h/db?loggerLevel=TRACE&loggerFile=/srv/x.jsp",
        "jdbc:mysql://h/db?autoDeserialize=true&queryInterceptors=x",
        "jdbc:mysql://address=(host=h)(port=1)(autoDeserialize=true)/db",
        "jdbc:mysql://(host=h,allowLoadLocalInfile=true)/db",
        "jdbc:sqlserver://h;socketFactoryClass=x",
        "jdbc:oracle:thin:@ldap://h/x",
        "jdbc:db2://h/db:clientRerouteServerListJNDIName=ldap://h/x;",
        "jdbc:sqlite:x.db?enable_load_extension=true",
        "jdbc:teradata://h/browser=sh,x=1",
    ],
)
def test_urls_that_execute_code(url: str) -> None:
    found = jdbc_problem({"url": url})
    assert found is not None
    assert found[0] == "url"


def test_properties_that_execute_code() -> None:
    assert jdbc_problem({"url": "jdbc:postgresql://h/db", "socketfactory": "x"}) is not None
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc", "option__dbtable": "t"}
    assert set(problems(Permissions(), **sink, option__url="jdbc:h2:x")) == {"option.url"}
    assert problems(Permissions(), **sink, option__url="jdbc:postgresql://h:5432/db?ssl=true&user=me") == {}


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://h/db?sslmode=require",
        "jdbc:mysql://h/db?useSSL=true",
        "jdbc:derby:/tmp/x;create=true",
        "jdbc:sqlserver://h;databaseName=x;encrypt=true",
        "jdbc:oracle:thin:@//h:1521/x",
        "jdbc:sqlite:/tmp/x.db",
    ],
)
def test_ordinary_urls(url: str) -> None:
    assert jdbc_problem({"url": url, "user": "u", "password": "p", "dbtable": "t", "driver": "d"}) is None


def test_statements_of_databases_inside_of_spark() -> None:
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc", "option__dbtable": "t"}
    assert set(problems(Permissions(), **sink, option__URL="jdbc:derby:memory:x;create=true")) == {"option.URL"}
    sqlite = {**sink, "option__url": "jdbc:sqlite:/tmp/x.db"}
    assert problems(Permissions(), **sqlite) == {}
    found = problems(Permissions(), **sqlite, option__sessionInitStatement="ATTACH '/etc/x' AS x")
    assert set(found) == {"option.sessionInitStatement"}
    server = {**sink, "option__url": "jdbc:postgresql://h/db"}
    assert problems(Permissions(), **server, option__sessionInitStatement="SET x TO y") == {}
    assert jdbc_problem({"url": "jdbc:derby:x;startMaster=true;slaveHost=evil"}) is not None


def test_options_of_spark_in_any_case(tmp_path: Path) -> None:
    """Spark reads names of options without their case."""
    limited = Permissions(path_problem=partial(path_problem, allowed=(str(tmp_path),)))
    source: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "json", "path": str(tmp_path)}
    for option in ("PATH", "Path", "sourceArchiveDir", "rowValidationXSDPath", "avroSchemaUrl"):
        assert set(problems(limited, **source, **{f"option__{option}": "/etc"})) == {f"option.{option}"}
        assert problems(limited, **source, **{f"option__{option}": f"{tmp_path}/x"}) == {}
    assert set(problems(limited, **source, option__Paths='["/etc"]')) == {"option.Paths"}
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc"}
    assert set(problems(limited, **sink, option__Url="jdbc:sqlite:/etc/x.db")) == {"option.Url"}
    kafka: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "Kafka"}
    found = problems(Permissions(policy=NONE), **kafka, option__KAFKA__Bootstrap__servers="h:1")
    assert "'None' policy does not allow 'bootstrap.servers'" in found["option.kafka.bootstrap.servers"]


RUNNING = [
    "sasl.kerberos.kinit.cmd",
    "ssl.engine.location",
    "ssl.engine.id",
    "ssl.engine.factory.class",
    "ssl.providers",
    "plugin.library.paths",
    "security.providers",
    "config.providers",
    "config.providers.x.class",
    "offset.store.path",
    "oauthbearer_token_refresh_cb",
]


@pytest.mark.parametrize("name", RUNNING)
def test_client_settings_that_run_something(name: str) -> None:
    for client in ("producer", "consumer", "admin"):
        key = f"{client}.override.{name}"
        found = problems(Permissions(), connector__class=FILE, **{key: "x"})
        assert re.fullmatch(rf"{re.escape(name)} may not be set by a connector: it (would|is for) .+", found[key])
    assert set(problems(Permissions(), connector__class=FILE, producer__override__linger__ms="5")) == set()


def test_every_setting_of_librdkafka_has_been_judged() -> None:
    """A new one that names a file, a command or a library has to be looked at."""
    suspicious = re.compile(r"cmd|engine|provider|plugin|librar|_cb$|signal|store\.(path|method)|exec|load")
    harmless = {"ssl_engine_callback_data"}
    found = {name for name in librdkafka_settings() if suspicious.search(name)} - harmless
    assert {"plugin.library.paths", "sasl.kerberos.kinit.cmd"} <= found
    given: Any = {f"producer.override.{name}": "x" for name in found}
    assert set(problems(Permissions(), connector__class=FILE, **given)) == set(given)


def librdkafka_settings() -> list[str]:
    """The names of all its settings, as it prints them itself."""
    (library,) = (Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs").glob("librdkafka*")
    kafka, c = ctypes.CDLL(str(library)), ctypes.CDLL(None)
    c.fopen.restype = ctypes.c_void_p
    with tempfile.NamedTemporaryFile() as file:
        stream = ctypes.c_void_p(c.fopen(file.name.encode(), b"w"))
        kafka.rd_kafka_conf_properties_show(stream)
        c.fclose(stream)
        lines = Path(file.name).read_text().splitlines()
    return [line.split("|")[0].strip() for line in lines if re.match(r"[a-z][\w.]+ +\| +[*PC] +\|", line)]


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("metric.reporters", "org.example.Evil", False),
        ("interceptor.classes", "org.apache.kafka.common.Fine,org.example.Evil", False),
        ("sasl.login.callback.handler.class", "org.example.Evil", False),
        ("SASL.jaas.config", "com.sun.security.auth.module.JndiLoginModule required x=y;", False),
        ("sasl.jaas.config", "// \r com.Evil required; /*\n x.PlainLoginModule required; //*/", False),
        ("sasl.jaas.config", 'org.apache.kafka.common.security.plain.PlainLoginModule required password="a;b";', True),
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd", False),
        ("sasl.oauthbearer.token.endpoint.url", "https://login/token", True),
        ("sasl.oauthbearer.assertion.file", "/etc/passwd", False),
        ("max.poll.records", "5", True),
    ],
)
def test_settings_of_javas_clients_in_spark(name: str, value: str, fine: bool) -> None:
    source: Any = {"connector__class": "penstock.connectors.SparkSource", "format": "kafka"}
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "path": "/x"}
    assert bool(problems(Permissions(), **source, **{f"option.kafka.{name}": value})) is not fine
    assert bool(problems(Permissions(), **sink, **{f"consumer.override.{name}": value})) is not fine


JDBC = "io.confluent.connect.jdbc.JdbcSinkConnector"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("connection.url", "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://x'"),
        ("connection.url", "jdbc:postgresql://db/app?socketFactory=org.example.Evil"),
        ("connection.allowLoadLocalInfile", "true"),
    ],
)
def test_a_database_that_would_run_code(setting: str, value: str) -> None:
    config = {"connector.class": JDBC, "connection.url": "jdbc:mysql://db/app", setting: value}
    assert list(problems(Permissions(), **config)) == [setting]


def test_files_of_embedded_databases_are_in_allowed_folders(tmp_path: Path) -> None:
    permissions = Permissions(path_problem=partial(path_problem, allowed=(str(tmp_path),)))
    for kind in ("sqlite", "derby"):
        inside, outside = f"jdbc:{kind}:{tmp_path}/db;create=true", f"jdbc:{kind}:/etc/db"
        assert problems(permissions, **{"connector.class": JDBC, "connection.url": inside}) == {}
        assert list(problems(permissions, **{"connector.class": JDBC, "connection.url": outside})) == ["connection.url"]
    assert problems(permissions, **{"connector.class": JDBC, "connection.url": "jdbc:postgresql://db/app"}) == {}


SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"


@pytest.mark.parametrize(("kind", "fine"), [("postgresql://db/app", True), ("sqlite:/x", False), (" Derby:x", False)])
def test_sql_of_a_jdbc_source(kind: str, fine: bool) -> None:
    for setting in ("query", "query.masked", "query.suffix"):
        config = {"connector.class": SOURCE, "connection.url": f"jdbc:{kind}", setting: "SELECT load_extension('x')"}
        assert list(problems(Permissions(), **config)) == ([] if fine else [setting])
        assert list(problems(Permissions(derby_queries=True), **config)) == ([setting] if "sqlite" in kind else [])


READS = [
    "SELECT * FROM t",
    " select a, 'it''s; ATTACH' FROM [t;] WHERE (b > 1); ",
    "WITH a AS (SELECT 1), b(x) AS (SELECT 2) SELECT replace(x, '1', '2') FROM a, b",
    "-- first\nSELECT /* not ; here */ 1",
    "VALUES (1, 2)",
    'SELECT "attach" FROM `update`',
]
OTHERS = [
    "ATTACH '/etc/x' AS x",
    "PRAGMA writable_schema = 1",
    "VACUUM INTO '/etc/x'",
    "backup to /etc/x",
    "restore from /etc/x",
    "SELECT 1; ATTACH '/etc/x' AS x",
    "DELETE FROM t RETURNING *",
    "WITH a AS (SELECT 1) DELETE FROM t RETURNING *",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a RETURNING *",
    "EXPLAIN SELECT 1",
    "SELECT load_extension('x')",
    "SELECT \"LOAD_EXTENSION\"('x')",
    "SELECT 1 /* ATTACH",
    "SELECT 1 -- ATTACH",
    "SELECT 'a",
    "SELECT 1)",
    "(SELECT 1",
    "SELECT 1\0; ATTACH '/etc/x' AS x",
    "",
    ";",
]


def test_sql_for_sqlite_that_only_reads() -> None:
    assert [sql for sql in READS if sqlite_problem(sql)] == []
    assert [sql for sql in OTHERS if not sqlite_problem(sql)] == []
    assert [sql for sql in ("LIMIT 5", "AND b = ';'", "UNION SELECT 1") if sqlite_suffix_problem(sql)] == []
    assert [
        sql
        for sql in ("; ATTACH 'x' AS x", "'", "-- x", ") x", "LIMIT load_extension('x')")
        if not sqlite_suffix_problem(sql)
    ] == []


PARTS = [
    "SELECT",
    "1",
    ";",
    "'",
    '"',
    "[",
    "]",
    "`",
    "--",
    "\n",
    "/*",
    "*/",
    "(",
    ")",
    "ATTACH 'x' AS y",
    "WITH a AS (SELECT 1)",
]
PARTS += [
    "DELETE FROM t",
    "INSERT INTO t VALUES (1)",
    "a",
    "FROM t",
    "LIMIT 1",
    "load_extension('x')",
    "UNION",
    ",",
    " ",
]
SQL = st.lists(st.sampled_from(PARTS), max_size=10).map(" ".join)


@given(SQL, SQL)
def test_what_sqlite_itself_makes_of_sql_that_only_reads(query: str, suffix: str) -> None:
    """It asks before it does anything else than to read."""
    if sqlite_problem(query) or sqlite_suffix_problem(suffix):
        return
    asked: list[tuple[Any, ...]] = []
    reads = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

    def ask(action: int, *names: str | None) -> int:
        if action not in reads or "load_extension" in names:
            asked.append((action, *names))
        return sqlite3.SQLITE_OK

    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a)")
    database.set_authorizer(ask)
    text = f"{query.strip().rstrip(';')} WHERE 1=1 {suffix}"
    with contextlib.closing(database), contextlib.suppress(sqlite3.Error):
        database.execute(text)
    with contextlib.closing(sqlite3.connect(":memory:")) as other, contextlib.suppress(sqlite3.Error):
        other.execute("CREATE TABLE t (a)")
        other.set_authorizer(ask)
        other.executescript(text)
    assert asked == []
