"""URLs, properties and statements by which a database would run code."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.core.config.permissions.jdbc import jdbc_problem
from penstock.core.config.permissions.rules import Permissions
from penstock.settings.security import path_problem
from support.permissions import problems

SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"


SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"


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
def test_urls_that_execute_code_are_refused(url: str) -> None:
    found = jdbc_problem({"url": url})
    assert found is not None
    assert found[0] == "url"


def test_properties_that_execute_code_are_refused() -> None:
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
def test_ordinary_urls_are_allowed(url: str) -> None:
    assert jdbc_problem({"url": url, "user": "u", "password": "p", "dbtable": "t", "driver": "d"}) is None


def test_statements_of_databases_inside_of_spark_are_refused() -> None:
    sink: Any = {"connector__class": "penstock.connectors.SparkSink", "format": "jdbc", "option__dbtable": "t"}
    assert set(problems(Permissions(), **sink, option__URL="jdbc:derby:memory:x;create=true")) == {"option.URL"}
    sqlite = {**sink, "option__url": "jdbc:sqlite:/tmp/x.db"}
    assert problems(Permissions(), **sqlite) == {}
    found = problems(Permissions(), **sqlite, option__sessionInitStatement="ATTACH '/etc/x' AS x")
    assert set(found) == {"option.sessionInitStatement"}
    server = {**sink, "option__url": "jdbc:postgresql://h/db"}
    assert problems(Permissions(), **server, option__sessionInitStatement="SET x TO y") == {}
    assert jdbc_problem({"url": "jdbc:derby:x;startMaster=true;slaveHost=evil"}) is not None


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("connection.url", "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://x'"),
        ("connection.url", "jdbc:postgresql://db/app?socketFactory=org.example.Evil"),
        ("connection.allowLoadLocalInfile", "true"),
    ],
)
def test_a_database_that_would_run_code_is_refused(setting: str, value: str) -> None:
    config = {"connector.class": SINK, "connection.url": "jdbc:mysql://db/app", setting: value}
    assert list(problems(Permissions(), **config)) == [setting]


def test_files_of_embedded_databases_are_in_allowed_folders(tmp_path: Path) -> None:
    permissions = Permissions(path_problem=partial(path_problem, allowed=(str(tmp_path),)))
    for kind in ("sqlite", "derby"):
        inside, outside = f"jdbc:{kind}:{tmp_path}/db;create=true", f"jdbc:{kind}:/etc/db"
        assert problems(permissions, **{"connector.class": SINK, "connection.url": inside}) == {}
        assert list(problems(permissions, **{"connector.class": SINK, "connection.url": outside})) == ["connection.url"]
    assert problems(permissions, **{"connector.class": SINK, "connection.url": "jdbc:postgresql://db/app"}) == {}


@pytest.mark.parametrize(("kind", "fine"), [("postgresql://db/app", True), ("sqlite:/x", False), (" Derby:x", False)])
def test_sql_of_a_jdbc_source_is_checked(kind: str, fine: bool) -> None:
    for setting in ("query", "query.masked", "query.suffix"):
        config = {"connector.class": SOURCE, "connection.url": f"jdbc:{kind}", setting: "SELECT load_extension('x')"}
        assert list(problems(Permissions(), **config)) == ([] if fine else [setting])
        assert list(problems(Permissions(derby_queries=True), **config)) == ([setting] if "sqlite" in kind else [])
