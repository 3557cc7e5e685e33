select uuid() as id, * from records
select rand() r, a from records where rand() < 0.5
select a from records limit 5
select a, collect_list(b), first(c) from records group by a
select a, count(*) from records group by a
select a, b, row_number() over (partition by a order by b) from records
select a, first_value(b) over (partition by a order by d) x from records order by x
select a, sort_array(collect_list(b)) l from records group by a order by l
select a from records order by b limit 5
select distinct a from (select a from records order by b limit 5)
select a, current_timestamp() t from records group by all
select a, input_file_name() from records group by all
select * from records r join records s on r.a = s.a
with r as (select uuid() id, * from records) select * from r
select x, count(*) from (select listagg(a) within group (order by a) x from records) group by x
select max(x) from (select aes_encrypt(a, '0000111122223333', 'ECB') x from records)
select * from records where b > (select avg(b) from records)
select max_by(a, b) over (partition by c), sum(b) over (partition by c order by a) from records order by a
