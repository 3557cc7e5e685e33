select a, count(*) from (select a from records limit 5) group by a
select distinct a from (select a from records tablesample (50 percent))
select rand() r, count(*) from records group by r
select a from records order by rand()
select a from records order by rand() limit 5
select distinct uuid(), a from records
with r as (select uuid() id, * from records) select * from r union all select * from r
with r as (select uuid() id, * from records) select id, count(*) from r group by id
select r.a from records r join (select a, any_value(b) b from records group by a) s on r.b = s.b
select a from records distribute by rand()
select a from records cluster by uuid()
select sum(b) over (partition by x) from (select b, monotonically_increasing_id() x from records)
select a, n from (select a, row_number() over (partition by a order by 1) n from records) order by n
select x, count(*) from (select explode(shuffle(arr)) x, spark_partition_id() p from records) group by x
select x, count(*) from (select collect_list(a) x from records group by b) group by x
select * from records where a in (select a from records limit 3)
select * from records r where exists (select 1 from (select a from records limit 3) s where s.a = r.a)
select max(x) from (select aes_encrypt(a, '0000111122223333') x from records)
from records |> limit 5 |> aggregate count(*) group by a
select uuid() u from records union select 'a'
select uuid() u from records except select 'a'
select * from (select a, b, rand() r from records) pivot (sum(b) for r in (1, 2))
select a, count(*) from (select /*+ coalesce(1) */ a from records offset 2) group by a
select x, sum(y) over (partition by x) from (select a x, lag(b) over (partition by a order by 'x') y from records)
select count(*) from (select a, randstr(3) s from records) group by s
select count(*) from (select a, uniform(1, 5) s from records) group by s
select r.a from records r join (select a, any_value(b) b from records group by a) s on r.b = s.b
select x, count(*) from (select collect_list(a) x from records group by b) group by x
select max(x) from (select aes_encrypt(a, '0000111122223333') x from records)
select x, count(*) from (select shuffle(arr) x from records) group by x
select distinct x from (select first_value(a) over (partition by b order by null) x from records)
select distinct x from (select kll_sketch_agg_bigint(b) x from records group by a)
select distinct * from (select spark_partition_id(), a from records)
select a from records where b in (select last(b) from records group by a)
select a from records group by a having first(b) > 1 order by a
select a, sum(b) from (select /*+ repartition(3, r) */ a, b, r from (select *, randn() r from records)) group by a
