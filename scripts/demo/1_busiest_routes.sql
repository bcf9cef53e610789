-- Which routes out of New York are the busiest, and how late do they arrive?
select
    f.origin,
    f.dest,
    a.name as destination,
    count(*) as flights,
    round(avg(f.arr_delay), 1) as late_min
from flights f
join airports a on a.faa = f.dest
group by f.origin, f.dest, a.name
order by flights desc
limit 10;
