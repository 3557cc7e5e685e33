"""``sql`` of SparkSink and SparkSource is one SELECT from the rows of a batch.

Each line of ``allowed.sql`` and ``refused.sql`` is a statement, for the columns of ``RECORDS``. Those of ``mixed.sql``
are refused where a batch counts exactly once, those of ``kept.sql`` are not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from penstock.api.errors import ConfigError
from penstock.spark.java import spark_java
from penstock.spark.query.dataframes import declared
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.shared import close_xml
from penstock.spark.query.sql.select import SAFE, SqlSelect, lists

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.security]

RECORDS = """
    SELECT 'x' a, 2 b, '{}' j, array(1) arr, named_struct('x', 1) st, map('k', 1) m, current_timestamp() ts,
           date'2020-01-01' d, 'AA' c, 1.5d f, parse_json('{}') v, cast(1 AS decimal(10, 2)) dec, x'01' bin
"""
HERE = Path(__file__).parent
ALLOWED = (HERE / "allowed.sql").read_text("utf-8").splitlines()
REFUSED = (HERE / "refused.sql").read_text("utf-8").splitlines()
MIXED = (HERE / "mixed.sql").read_text("utf-8").splitlines()
KEPT = (HERE / "kept.sql").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    """A session whose statements are analyzed; few of them run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "JAVA_HOME", str(spark_java().home))
        session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    close_xml(session.sparkContext)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def records(session: SparkSession) -> DataFrame:
    return session.sql(RECORDS)


@pytest.fixture
def shout(session: SparkSession) -> Iterator[None]:
    """A function in Python, as an operator may register one."""
    session.udf.register("shout", lambda text: f"{text}!")
    yield
    session.sql("DROP TEMPORARY FUNCTION shout")


@pytest.mark.parametrize("sql", ALLOWED)
def test_a_select_is_allowed(session: SparkSession, records: DataFrame, sql: str) -> None:
    assert SqlSelect(session, sql).of(records).columns


@pytest.mark.parametrize("sql", REFUSED)
def test_all_else_is_refused_with_its_position(session: SparkSession, records: DataFrame, sql: str) -> None:
    with pytest.raises((ConfigError, ParseException), match=r"it must be a SELECT from records; .+ \(line 1, col"):
        SqlSelect(session, sql).of(records)


@pytest.mark.parametrize("sql", [*KEPT, *ALLOWED])
def test_a_result_that_counts_once_as_computed_is_allowed_exactly_once(
    session: SparkSession, records: DataFrame, sql: str
) -> None:
    assert SqlSelect(session, sql, once=True).of(records).columns


@pytest.mark.parametrize("sql", MIXED)
def test_a_result_that_differs_and_is_moved_is_refused_exactly_once(
    session: SparkSession, records: DataFrame, sql: str
) -> None:
    assert SqlSelect(session, sql).of(records).columns
    with pytest.raises(ConfigError, match=r"may give another result .+ reads it, .+ \(line 1, column \d+\)$"):
        SqlSelect(session, sql, once=True).of(records)


def test_what_differs_is_named_with_its_position(session: SparkSession, records: DataFrame) -> None:
    with pytest.raises(ConfigError) as refused:
        SqlSelect(
            session, "select r, count(*)\nfrom (select round(rand(), 1) r from records)\ngroup by r", once=True
        ).of(records)
    assert str(refused.value).endswith(
        "rand() may give another result when Spark computes a part of a batch again, and a GROUP BY or an aggregate "
        "reads it, so that a row could be in the result twice or not at all. Where a batch counts exactly once it may "
        "only be at the end of the statement, or needs an order (line 2, column 20)"
    )


def test_a_function_of_the_operator_that_differs_is_refused_exactly_once(
    session: SparkSession, records: DataFrame
) -> None:
    limits = QueryLimits.of({"penstock.spark.functions.allowed": "dice, twice"})
    session.udf.register("dice", udf(lambda text: f"{text}!", "string").asNondeterministic())
    session.udf.register("twice", lambda text: text * 2)
    for sql, name in (("select distinct dice(a) from records", "dice"), ("select distinct twice(a) from records", "")):
        select = limits.select(session, sql, once=True)
        assert select is not None
        with pytest.raises(ConfigError, match=rf"{name}\(\) may give") if name else nullcontext():
            select.of(records)
    for name in ("dice", "twice"):
        session.sql(f"DROP TEMPORARY FUNCTION {name}")


def test_text_that_is_no_sql_raises_the_parsers_error(session: SparkSession) -> None:
    with pytest.raises(ParseException):
        SqlSelect(session, "selct (1")


def test_the_position_is_that_of_the_part_at_fault(session: SparkSession) -> None:
    with pytest.raises(ConfigError) as refused:
        SqlSelect(session, "select a,\n  upper(reflect('x', 'y'))\nfrom records")
    assert str(refused.value).endswith(
        "it must be a SELECT from records; the function reflect is not allowed: it calls a method of any Java class "
        "(line 2, column 9)"
    )


UNPARSED = {
    "select reflect('java.lang.Math', 'max', 1, 2) from records": "CallMethodViaReflection is not allowed",
    "select a from records where try_reflect('java.lang.Math', 'max', 1, b) is not null": "TryReflect is not allowed",
    "from records |> set a = java_method('java.lang.Math', 'max', 1, 2)": "CallMethodViaReflection is not allowed",
    "select sum(b) over w from records window w as (order by reflect('java.lang.Math', 'max', 1, 2))": (
        "CallMethodViaReflection is not allowed"
    ),
    "select filter(arr, x -> reflect('java.lang.Math', 'max', 1, 2) = x) from records": (
        "CallMethodViaReflection is not allowed"
    ),
    "select current_user() from records": "CurrentUser is not allowed",
    "select from_xml(a, 'x int', map('rowValidationXSDPath', '/x')) from records": "the option rowValidationXSDPath is",
    "select to_json(st, map('fs.defaultFS', 'file:///')) from records": "the option fs.defaultFS is not allowed",
    """select from_json(j, '{"type":"struct","fields":[{"name":"x","type":"string","nullable":true,"metadata":
        {"EXISTS_DEFAULT":"reflect(1)"}}]}') from records""": "a column of a schema has EXISTS_DEFAULT",
    "select * from text.`FOLDER`": "LogicalRelation is not allowed",
    "select * from records where exists (select 1 from text.`FOLDER`)": "LogicalRelation is not allowed",
    "select shout(a) from records": "PythonUDF is not allowed",
    "select * from other": "there is other in it",
    "select x from records, lateral (select max(value) x from text.`FOLDER`)": "LogicalRelation is not allowed",
}
"""Statements, and why their analyzed plans are not allowed."""


@pytest.mark.usefixtures("shout")
@pytest.mark.parametrize("sql", UNPARSED)
def test_the_analyzed_plan_alone_is_refused(
    session: SparkSession, records: DataFrame, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names the parsed plan has: a second line of defense."""
    (tmp_path / "x.txt").write_text("x")
    records.createOrReplaceTempView("other")
    select = SqlSelect(session, "select * from records")
    select._sql = sql.replace("FOLDER", str(tmp_path))
    monkeypatch.setitem(SAFE, "spark.sql.runSQLOnFiles", "true")
    with pytest.raises(ConfigError, match=re.escape(UNPARSED[sql])):
        select.of(records)


def test_files_are_no_relations_while_a_statement_is_analyzed(
    session: SparkSession, records: DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text("x")
    select = SqlSelect(session, "select * from records")
    select._sql = f"select * from text.`{tmp_path}`"
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        select.of(records)
    assert session.sql(select._sql).collect()[0].value == "x"


def test_long_lists_are_allowed(session: SparkSession, records: DataFrame) -> None:
    numbers = ", ".join(map(str, range(20_000)))
    assert SqlSelect(session, f"select a from records where b in ({numbers})").of(records).columns == ["a"]


def functions(session: SparkSession) -> dict[str, tuple[bool, str, str]]:
    """Return, by name, whether a function of Spark is for tables, its class, and its examples."""
    java: Any = session._jsparkSession
    state, found = java.sessionState(), {}
    for tables, registry in ((False, state.functionRegistry()), (True, state.tableFunctionRegistry())):
        known = registry.listFunction().iterator()
        while known.hasNext():
            identifier = known.next()
            info = registry.lookupFunction(identifier).get()
            found[f"{identifier.funcName()}{' (table)' if tables else ''}"] = (
                tables,
                str(info.getClassName()),
                str(info.getExamples()),
            )
    return found


def test_every_function_of_spark_has_been_judged(session: SparkSession) -> None:
    """A function of a new Spark is refused until it is added to one of the lists of ``allowed.toml``."""
    shown = {row[0] for row in session.sql("SHOW FUNCTIONS").collect()}
    known = {name.removesuffix(" (table)") for name in functions(session)} | shown
    judged = lists().functions | lists().tables | set(lists().refused)
    assert sorted(known - judged) == []
    assert lists().functions & set(lists().refused) == set()


def test_the_class_of_every_allowed_function_is_allowed(session: SparkSession) -> None:
    classes = lists().classes["expression"] | lists().classes["plan"]
    lacking = {
        name: kind
        for name, (_, kind, _) in functions(session).items()
        if name.removesuffix(" (table)") not in lists().refused and kind not in classes
    }
    assert lacking == {}


def examples(session: SparkSession) -> Iterator[tuple[str, str]]:
    for name, (_, _, text) in functions(session).items():
        plain = name.removesuffix(" (table)")
        for statement in re.findall(r"^\s*>\s(.*?;)\s*$", text.replace("_FUNC_", plain), re.MULTILINE | re.DOTALL):
            if statement.strip()[:3].casefold() != "set":
                yield plain, statement.strip().rstrip(";")


def test_examples_of_allowed_functions_pass_and_others_do_not(session: SparkSession, records: DataFrame) -> None:
    wrong, passed = [], 0
    for name, sql in examples(session):
        try:
            SqlSelect(session, sql).of(records)
            passed += 1
            if name in lists().refused:
                wrong.append(sql)
        except ConfigError as error:
            if name not in lists().refused:
                wrong.append(str(error))
        except AnalysisException:  # of formats whose jars are missing, and of types that are switched off
            continue
    assert wrong == []
    assert passed > 1000


def test_nothing_is_replaced_in_the_text(session: SparkSession, records: DataFrame) -> None:
    session.conf.set("spark.some.secret", "hidden")
    for name in ("env:PATH", "system:user.home", "spark.some.secret"):
        rows = SqlSelect(session, f"select '${{{name}}}' as found from records").of(records)
        assert rows.collect()[0].found == f"${{{name}}}"
    assert session.conf.get("spark.sql.variable.substitute") == "true"


def test_no_function_of_xml_fetches_what_a_document_names(session: SparkSession, tmp_path: Path) -> None:
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    (tmp_path / "secret").write_text("do not show")
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        there = f"http://127.0.0.1:{server.server_port}"
        documents = [
            f'<!DOCTYPE a SYSTEM "{there}/a.dtd"><a>1</a>',
            f'<!DOCTYPE a [<!ENTITY x SYSTEM "{there}/x">]><a>&x;</a>',
            f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><a>&x;</a>',
            f'<!DOCTYPE a [<!ENTITY % x SYSTEM "{there}/y"> %x;]><a>1</a>',
            f'<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="{there}/x.xsd"/>',
        ]
        frame = session.createDataFrame([(each,) for each in documents], "a STRING")
        found = ""
        for expression in ("from_xml(a, 'a STRING').a", "xpath_string(a, '/a')", "xpath_string(a, 'document(\"x\")')"):
            rows = SqlSelect(session, f"select {expression} as found from records").of(frame)
            for row in range(len(documents)):
                try:
                    found += str(rows.where(f"{row} >= 0").collect())
                except Exception as error:
                    found += str(error).replace(str(tmp_path), "")
        server.shutdown()
    assert asked == []
    assert "do not show" not in found


@pytest.mark.usefixtures("shout")
def test_an_operator_may_allow_functions(session: SparkSession, records: DataFrame) -> None:
    limits = QueryLimits.of({"penstock.spark.functions.allowed": "Shout, current_user"})
    allowed = limits.select(session, "select shout(upper(a)), current_user() from records")
    assert allowed is not None
    assert allowed.of(records).columns
    for sql in ("select shout(a) from records", "select shout(reflect('a', 'b')) from records"):
        with pytest.raises(ConfigError, match=r"the function (shout|reflect) is not allowed"):
            (SqlSelect(session, sql) if "reflect" not in sql else limits.select(session, sql))


def test_an_operator_may_allow_options(session: SparkSession, records: DataFrame) -> None:
    sql = "select from_xml(a, 'x int', map('rowValidationXSDPath', '/x.xsd')) from records"
    with pytest.raises(ConfigError) as refused:
        SqlSelect(session, sql)
    assert "the option rowValidationXSDPath of from_xml is not allowed; allowed are" in str(refused.value)
    assert "`penstock.spark.options.allowed` of the worker" in str(refused.value)
    allowed = QueryLimits.of({"penstock.spark.options.allowed": "xml.row*"}).select(session, sql)
    assert allowed is not None
    assert allowed.of(records).columns


def test_a_very_long_select_is_judged(session: SparkSession, records: DataFrame) -> None:
    long = " + ".join(["b"] * 200)
    assert SqlSelect(session, f"select {long} as total from records").of(records).columns == ["total"]
    with pytest.raises(ConfigError, match="the function reflect is not allowed"):
        SqlSelect(session, f"select {long} + reflect('a', 'b') as total from records")


def test_declared_columns_have_no_sql(session: SparkSession) -> None:
    assert declared("a INT COMMENT 'x', b ARRAY<STRUCT<c: STRING>>").names == ["a", "b"]
    for schema in ("a INT DEFAULT 1", "a INT GENERATED ALWAYS AS (1)", '{"type":"udt","class":"x","pyClass":"os.x"}'):
        with pytest.raises(ConfigError):
            declared(schema)
