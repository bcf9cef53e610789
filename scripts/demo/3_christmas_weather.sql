-- Christmas week: how did wind and rain at the airport go with delays? (reads the zones of that week only)
select
    cast(f.time_hour as date) as day,
    f.origin,
    count(*) as flights,
    round(avg(f.dep_delay), 1) as avg_delay_min,
    round(max(w.wind_speed), 1) as max_wind_mph,
    round(max(w.precip), 2) as max_rain_in
from flights f
left join weather w on w.origin = f.origin and w.time_hour = f.time_hour
where f.time_hour >= timestamp '2013-12-22 00:00:00' and f.time_hour < timestamp '2013-12-27 00:00:00'
group by cast(f.time_hour as date), f.origin
order by avg_delay_min desc
limit 8;
