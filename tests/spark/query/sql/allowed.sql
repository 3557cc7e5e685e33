select a, b from records where b > 1 order by a limit 3 offset 1
SELECT * FROM Records
with x as (select * from records), y as (select * from x) select count(*) c from y group by b having c > 1
with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r
select * from records where a in (select c from records) and exists (select 1 from records)
select (select max(a) from records) from records
select explode(arr) from records lateral view explode(arr) t as x
select * from records, lateral explode(arr)
select * from records r join (select a from records) s on r.a = s.a
select * from (select a, b from records) pivot (sum(b) for a in ('x', 'y'))
select * from (select a, b, c from records) unpivot (v for n in (a, c))
select transform(arr, x -> x + 1), filter(arr, x -> x > 1), aggregate(arr, 0, (s, x) -> s + x) from records
select *, row_number() over w, sum(a) over (partition by b) from records window w as (partition by a order by b)
select * except (a) from records qualify row_number() over (order by a) = 1
select a from records union all select b from records intersect select a from records
select * from records distribute by a sort by b
select /*+ broadcast(r) */ distinct cast(a as int), case when b > 1 then 1 end, a::int, interval 1 day from records r
from records |> where a = 'x' |> select a
select system.builtin.upper(a), date_format(d, 'yyyy') from records group by all
values (1, 'a')
select from_json(j, 'a int, b string', map('mode','FAILFAST','timestampFormat','dd/MM/yyyy')).a from records
select from_json(j, schema_of_json('{"a":1}')) from records
select from_json(j, '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}}]}') from records
select from_csv(a, 'x int'), to_json(st), to_csv(st), schema_of_csv('1,2'), get_json_object(j, '$.a'), to_json(st, map('pretty','true')) from records
select from_xml(a, 'x int', map('rowTag','r')), to_xml(st), schema_of_xml('<p><a>1</a></p>'), xpath(a, 'a/b') from records
select window(ts, '10 minutes') w, count(*) from records group by window(ts, '10 minutes')
select session_window(ts, '10 minutes') w, count(*) from records group by session_window(ts, '10 minutes')
select window(ts, '10 minutes', '5 minutes').start from records
select window_time(w) from (select window(ts, '1 hour') w, count(*) c from records group by window(ts, '1 hour'))
select uuid(), rand(), md5(a), sha2(a, 256), xxhash64(a), hash(a, b), crc32(a) from records
select a, b, sum(b) from records group by grouping sets ((a), (b), ())
select a, b, grouping(a), sum(b) from records group by cube (a, b)
select a, b, sum(b) from records group by rollup (a, b) having sum(b) > 1 order by 1, 2
select a, lag(b) over (partition by a order by ts), lead(b, 2, 0) over (partition by a order by ts), ntile(4) over (order by b), first(b) over w, last_value(b) ignore nulls over w from records window w as (partition by a order by ts rows between unbounded preceding and current row)
select * from records tablesample (10 percent)
select * from records where a like 'x%' and a not like any ('a', 'b') and a rlike 'x' and b between 1 and 2 and d is not null and a ilike 'X'
select * from records r left join records s using (a)
select * from (select a, b from records) natural join (select a, c from records)
select * from records r cross join records s
select * from records r full outer join (select a, max(b) mb from records group by a) s on r.a = s.a and s.mb > 1
select * from records r left semi join records s on r.a = s.a
select * from records r left anti join records s on r.a = s.a
select * from records where not exists (select 1 from records s where s.a = records.a)
select a from records where b = (select max(b) from records s where s.a = records.a)
select a, (select count(*) from records s where s.a = records.a) n from records
select a from records where b > (select 1)
select * from records, lateral (select b + 1 as bb)
select * from records lateral view outer explode(arr) t as x lateral view posexplode(arr) u as i, y
select stack(2, a, b, c, b) from records
select inline(array(struct(1, 'a'))) from records
select explode(m) from records
select m['k'], arr[0], st.x, st.*, element_at(arr, 1), try_element_at(m, 'z') from records
select map_filter(m, (k, v) -> v > 0), transform_values(m, (k, v) -> v + 1), zip_with(arr, arr, (x, y) -> x + y), exists(arr, x -> x > 1), forall(arr, x -> x > 1), reduce(arr, 0, (s, x) -> s + x, s -> s * 2), array_sort(arr, (l, r) -> l - r) from records
select cast(b as string), try_cast(a as int), b::double, date_add(d, 1), d + interval 1 day, ts - interval '1' hour, datediff(d, d), extract(year from ts), timestampadd(day, 1, ts), timestampdiff(hour, ts, ts), make_date(2020, 1, 1), to_date(a, 'yyyy'), to_timestamp(a), date_trunc('month', ts), current_date, current_timestamp() from records
select ts - ts, d - d, interval '1' year * 2, interval 3 days / 2, -interval 1 day from records
select case a when 'x' then 1 else 2 end, if(b > 1, 'a', 'b'), coalesce(a, 'b'), nullif(a, 'x'), nvl2(a, 1, 2), ifnull(a, 'b'), decode(a, 'x', 1, 2), iff from (select *, b iff from records)
select count(distinct a), approx_count_distinct(a), percentile(b, 0.5), collect_list(a), collect_set(a), max_by(a, b), stddev(b), count(*) filter (where b > 1), any_value(a), first(a), listagg(a, ',') within group (order by a), percentile_cont(0.5) within group (order by b) from records
select variant_get(v, '$.a', 'int'), v:a::string, try_variant_get(v, '$.b', 'array<int>'), schema_of_variant(v) from records
select * from records, lateral variant_explode(v)
select * from range(10)
select id, r.* from range(1, 3) join records r
with x as (select a, b from records), y as (select * from x union select * from x) select * from y minus select * from x
select * from values (1, 'a'), (2, 'b') as t(x, y)
select * from (select a, b from records) pivot (sum(b) as s, count(*) as n for (a) in ('x' as x, 'y' as y))
select * from records unpivot include nulls (v for n in (b as bb))
select r.`a` from records r
select * except (j, v) from records
select a as x, x || 'y' as z from records
select a, b from records order by all
select a, count(*) from records group by all order by a desc nulls last limit 10
select distinct a from records limit all
select /*+ coalesce(1) */ * from records
select /*+ repartition(3, a) */ * from records
select /*+ broadcast(s), shuffle_hash(r) */ * from records r join records s on r.a = s.a
select a from records cluster by a
from records select a, b where b > 1
from records |> extend b + 1 as c2 |> set a = upper(a) |> drop j |> as t |> aggregate sum(b) as s group by a |> order by s desc |> limit 3
from records |> where b > 1 |> select a, b |> union all select 'x', 1
from records |> select a, b |> pivot (sum(b) for a in ('x')) |> limit 1
from records |> join (select 1 as b) s using (b) |> tablesample (50 percent)
from records |> select a, sum(b) over w as s window w as (partition by a)
from records |> select a as aa |> where aa = 'x'
select a collate unicode_ci, collation(a) from records where a collate utf8_lcase = 'X'
select system.builtin.upper(a), builtin.lower(a) from records
select named_struct('a', a, 'b', b), struct(a, b), map('x', a), array(a, 'b'), map_from_arrays(array('a'), array(1)), arrays_zip(arr, arr), flatten(array(arr)), sequence(1, 3), slice(arr, 1, 1) from records
select input_file_name(), monotonically_increasing_id(), spark_partition_id(), current_timezone(), current_catalog(), current_database(), version() from records
select regexp_extract(a, '(x)', 1), regexp_replace(a, 'x', 'y'), split(a, ','), substring(a from 1 for 2), trim(both 'x' from a), position('x' in a), overlay(a placing 'y' from 1), format_string('%s', a), concat_ws(',', a, c), lpad(a, 5, '0'), initcap(a), translate(a, 'x', 'y'), soundex(a), base64(bin), hex(b), unhex(a), encode(a, 'utf-8'), decode(bin, 'utf-8'), parse_url(a, 'HOST'), url_encode(a), levenshtein(a, c), mask(a), to_char(dec, '999') from records
select abs(b), ceil(f), floor(f, 1), round(f, 2), bround(f), pow(b, 2), sqrt(f), exp(f), ln(f), log(10, f), mod(b, 2), pmod(b, 2), b % 2, b div 2, b & 1, b | 1, b ^ 1, ~b, b << 1, greatest(b, 1), least(b, 1), sign(f), width_bucket(f, 0, 1, 2), bin(b), conv('1', 2, 10), factorial(3), try_add(b, 1), try_divide(b, 0) from records
select json_tuple(j, 'a', 'b') from records
select t.* from records lateral view json_tuple(j, 'a', 'b') t as x, y
select * from records offset 1
select a from records where a in ('x', 'y') and (a, b) in (select a, b from records)
with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select t.n, r.a from t join records r on r.b = t.n
select '${env:HOME}' as x from records
select histogram_numeric(b, 5), kurtosis(b), corr(b, f), regr_slope(b, f), bit_and(b), bool_or(b > 1), mode(a), median(b), try_sum(b), try_avg(b), hll_sketch_agg(b), count_min_sketch(b, 0.5d, 0.5d, 1), bitmap_construct_agg(bitmap_bit_position(b)), array_agg(a), string_agg(a, ',') from records
select aes_encrypt(a, '0000111122223333'), assert_true(b > 0), raise_error('x'), typeof(a), equal_null(a, c), luhn_check(a), is_valid_utf8(a), randstr(5, 0), uniform(1, 10, 0), quote(a) from records
select date'2020-01-01', timestamp'2020-01-01 00:00:00', x'1F', 1L, 1.5BD, true, null, interval '1-2' year to month, timestamp_ntz'2020-01-01 00:00:00', 1e3, r'a\b' from records
select count_if(b > 1), sum(distinct b), avg(b), min(a), max(a), variance(b), covar_pop(b, f), skewness(f) from records group by a with rollup
select row_number() over (order by b), rank() over (order by b), dense_rank() over (order by b), percent_rank() over (order by b), cume_dist() over (order by b), nth_value(a, 2) over (order by b), sum(b) over (order by b range between 1 preceding and current row) from records
select sum(b) over (order by d range between interval 1 day preceding and current row) from records
select * from (select a, b from records) as t(x, y) where x = 'x'
select a from (select a from records intersect all select c from records) union select 'x'
select make_interval(1, 2), make_dt_interval(1), make_ym_interval(1), date_part('year', ts), dayofweek(d), last_day(d), next_day(d, 'MON'), months_between(d, d), unix_timestamp(ts), from_unixtime(1), to_utc_timestamp(ts, 'UTC'), convert_timezone('UTC', 'Europe/Paris', ts), try_to_timestamp(a), weekofyear(d), trunc(d, 'MM'), timestamp_seconds(1), current_time() from records
select transform(arr, (x, i) -> x + i), filter(arr, x -> exists(arr, y -> y = x)), aggregate(transform(arr, x -> x * 2), 0, (s, x) -> s + x) from records
select explode(arr) as x, a from records
select posexplode_outer(arr) from records
select * from explode(array(1, 2))
select a, b from records sort by b
select (a = 'x' and b > 1) or not (c <=> a) xor_, a == c, a != c, a <> c, !true from (select * from records)