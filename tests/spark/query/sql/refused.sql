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
from records |> set a = reflect('java.lang.System', 'getProperty', 'user.home')
from records |> extend java_method('a', 'b') as x
from records |> select a window w as (partition by reflect('a','b'))
from records |> aggregate sum(b) as s group by try_reflect('a','b')
from records |> where exists (select 1 from secret)
select sum(b) over w from records window w as (partition by (select max(x) from secret))
select sum(b) over w from records window w as (order by reflect('a','b'))
select * except (a) from records |> set b = (select 1 from secret)
select from_xml(a, 'x int', map('rowValidationXSDPath', 'http://localhost:1/x.xsd')) from records
select from_xml(a, 'x int', map('ROWVALIDATIONXSDPATH', '/etc/passwd')) from records
select from_xml(a, 'x int', map(concat('rowValidation', 'XSDPath'), '/etc/passwd')) from records
select from_xml(a, 'x int', map_from_arrays(array('rowValidationXSDPath'), array('/x'))) from records
select from_xml(a, 'x int', str_to_map('rowValidationXSDPath:/x')) from records
select from_xml(a, schema_of_xml('<a/>', map('rowValidationXSDPath', '/x'))) from records
select schema_of_xml('<a/>', map('rowValidationXSDPath', '/x')) from records
select from_json(j, '{"type":"struct","fields":[{"name":"x","type":"string","nullable":true,"metadata":{"EXISTS_DEFAULT":"reflect(1)"}}]}') from records
select from_json(j, '{"type":"udt","class":"com.x.Y"}') from records
select from_json(j, ' {"type":"udt","class":"com.x.Y","class":"x"}') from records
select from_json(j, concat('a', ' int')) from records
select from_json(j, schema => 'a int') from records
select from_avro(bin, '{}', map('avroSchemaUrl', 'http://x')) from records
select from_protobuf(bin, 'A', '/etc/x.desc') from records
select to_protobuf(st, 'A', '/etc/x.desc') from records
select variant_get(v, '$.a', '{"type":"udt","class":"x"}') from records
select * from records version as of 1
select * from records timestamp as of reflect('a', 'b')
select * from records with (header = 'true')
select identifier('a') from records
select :x from records
select ? from records
select current_user() from records
select current_user from records
select user(), session_user() from records
select * from python_worker_logs()
select system.session.foo(a) from records
select session.foo(a) from records
select transform(a, b) using 'sh -c id' as (x) from records
select * from csv.`/etc/passwd`
select * from records r join text.`/etc/passwd` t
select (select value from text.`/etc/passwd`) from records
with x as (select * from binaryFile.`/etc/passwd`) select * from x
select * from records union all select * from orc.`s3a://x/y`
select exists(select 1 from delta.`/x`) from records
select * from my_udtf(table(records))
select * from explode(reflect('a','b'))
select * from range(reflect('java.lang.Runtime', 'getRuntime'))
select 1 order by reflect('a','b')
select * from records limit (select max(x) from secret)
select * from records tablesample (10 rows) where reflect('a','b')
select * from records pivot (max(reflect('a','b')) for a in ('x'))
select * from records pivot (max(a) for b in (reflect('a','b')))
select * from records r join records s on reflect('a','b') = r.a
select /*+ repartition(reflect('a','b')) */ * from records
select case when reflect('a','b') = 'x' then 1 end from records
select interval (reflect('a','b')) day from records
select transform_values(m, (k, v) -> java_method('a','b')) from records
select array_sort(arr, (x, y) -> (select 1 from secret)) from records
select max_by(a, b) filter (where exists (select 1 from secret)) from records
select listagg(a) within group (order by reflect('a','b')) from records
select named_struct('a', reflect('a','b')).a from records
select * from records qualify reflect('a','b') = 'x'
select * from records having reflect('a','b') = 'x'
select a from records group by reflect('a','b')
select a from records group by grouping sets ((reflect('a','b')))
select a from records distribute by reflect('a','b')
select a from records lateral view reflect('a','b') t as x
select * from records, lateral reflect('a','b')
select * from values (java_method('a','b'))
with recursive t(n) as (select 1 union all select n + (select max(x) from secret) from t where n < 3) select * from t
select `reflect`('a','b') from records
select REFLECT('a','b') from records
select system.builtin.java_method('a','b') from records
select builtin.reflect('a','b') from records
describe records
show tables
show functions
use default
truncate table x
merge into x using records on x.a = records.a when matched then delete
update x set a = 1
delete from x
insert overwrite directory '/tmp/x' select * from records
load data inpath '/x' into table y
create view v as select * from records
create or replace temporary view records as select * from csv.`/etc/passwd`
set spark.sql.runSQLOnFiles=true
set var x = 1
declare x = 1
refresh table x
analyze table x compute statistics
call system.f()
list jars
add file '/etc/passwd'
reset
uncache table x
begin declare x int; select 1; end
from records insert into t select *
with x as (select 1) insert into t select * from x
select * from records join secret using (a)
select * from records union select * from global_temp.x
select * from spark_catalog.default.records
select * from `records.x`
select * from records, lateral (select reflect('a','b'))
select * from records where a in (select reflect('a','b'))
from records |> join secret using (a)
from records |> pivot (sum(b) for a in (reflect('a','b')))
from records |> tablesample (10 percent) |> order by reflect('a','b')
select a from records order by (select max(x) from secret)
select from_csv(a, 'x int', map('mode', 'FAILFAST', 'badRecordsPath', '/x')) from records
select to_json(st, map('fs.defaultFS', 'file:///')) from records
select from_json(j, 'a int', named_struct('mode', 'x')) from records
select to_xml(st, map(lower('ROWVALIDATIONXSDPATH'), '/x')) from records
select schema_of_csv('1', map('x', 'y')) from records
select try_variant_get(v, '$.a', concat('i', 'nt')) from records
select from_json(j, '{"type":"struct","fields":[{"name":"x","type":"string","nullable":true,"metadata":[{}]}]}') from records
select from_json(j, '{"type":"struct","fields":') from records
select from_json(j, '{"type":"array","elementType":{"type":"udt","class":"x"},"containsNull":true}') from records
