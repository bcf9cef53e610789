select x from (select case when n_regionkey > 2 then n_nationkey end as x from nation) as n
order by x desc nulls last
limit 12;
