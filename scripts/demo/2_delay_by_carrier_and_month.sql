-- Which carrier departed the latest in each month, and was it worse than the month before?
with monthly as (
    select
        month,
        carrier,
        count(*) as flights,
        avg(dep_delay) as delay_min
    from flights
    group by month, carrier
    having count(*) >= 100
), compared as (
    select
        *,
        delay_min - lag(delay_min) over (partition by carrier order by month) as change_min,
        rank() over (partition by month order by delay_min desc) as place
    from monthly
)
select
    c.month,
    l.name as carrier,
    c.flights,
    round(c.delay_min, 1) as avg_delay_min,
    round(c.change_min, 1) as change_min
from compared c
join airlines l on l.carrier = c.carrier
where c.place = 1
order by c.month;
