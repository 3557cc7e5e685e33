"""``sql`` of SparkSink and SparkSource is one SELECT from the rows of a batch."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from penstock.api.errors import ConfigError
from penstock.embedded import java_home
from penstock.spark.query.select import check_select

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    """One that is never used but for its parser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "JAVA_HOME", str(java_home()))
        session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


ALLOWED = """
select a, _offset from records where b > 1 order by a limit 3 offset 1
SELECT * FROM Records
with x as (select * from records), y as (select * from x) select count(*) c from y group by b having c > 1
with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r
select * from records where a in (select b from records) and exists (select 1 from records)
select (select max(a) from records) from records
select explode(a) from records lateral view explode(b) t as c
select * from records, lateral explode(a)
select * from records r join (select a from records) s on r.a = s.a
select * from records pivot (sum(a) for b in ('x', 'y'))
select * from records unpivot (v for n in (a, b))
select transform(arr, x -> x + 1), filter(arr, x -> x > 1), aggregate(arr, 0, (s, x) -> s + x) from records
select *, row_number() over w, sum(a) over (partition by b) from records window w as (partition by a order by b)
select * except (a) from records qualify row_number() over (order by a) = 1
select a from records union all select b from records intersect select a from records
select * from records distribute by a sort by b
select /*+ broadcast(r) */ distinct cast(a as int), case when a then 1 end, a::int, interval 1 day from records r
from records |> where a > 1 |> select a
select system.builtin.upper(a), date_format(b, 'yyyy') from records group by all
values (1, 'a')
"""
REFUSED = """
select transform(a) using 'cat' from records
from (map a using 'cat' from records) select *
select reflect('java.lang.System', 'exit', '1') from records
select Reflect('a', 'b') from records
select `java_method`('a', 'b') from records
select try_reflect('a', 'b') from records
select system.builtin.reflect('a', 'b') from records
select default.f(a) from records
select identifier('reflect')('a') from records
select sum(a) over w from records window w as (partition by reflect('a', 'b'))
select count(1) filter (where reflect('a', 'b') = 1) from records
select filter(arr, x -> reflect('a', 'b') = x) from records
select * from values (reflect('a', 'b'))
select * from records limit length(reflect('a', 'b'))
select * from parquet.`/etc`
select * from json.`/etc/passwd`
select * from secret
table secret
select * from default.records
select * from identifier('secret')
select * from records where a in (select b from secret)
select (select max(a) from secret) from records
select filter(arr, x -> exists(select 1 from secret)) from records
select * from records r, lateral (select * from secret)
with secret as (select * from secret) select * from secret
with a as (select * from b), b as (select 1) select * from a
select * from (with x as (select 1) select * from x), x
select * from stream(secret)
select * from python_table(a)
drop table x
insert into x select * from records
create table x as select * from records
set spark.x=1
add jar '/x.jar'
create temporary function f as 'java.lang.String'
cache table records
explain select 1
execute immediate 'select 1'
begin select 1; end
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("sql", lines(ALLOWED))
def test_a_select_is_allowed(session: SparkSession, sql: str) -> None:
    check_select(session, sql)


@pytest.mark.parametrize("sql", lines(REFUSED))
def test_all_else_is_refused(session: SparkSession, sql: str) -> None:
    with pytest.raises(ConfigError, match="it must be a SELECT from records; "):
        check_select(session, sql)


def test_text_that_is_no_sql_raises_the_parsers_error(session: SparkSession) -> None:
    with pytest.raises(ParseException):
        check_select(session, "selct (1")
