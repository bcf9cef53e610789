select
    coalesce(x, 0) as c,
    nullif(n_regionkey, 1) as f,
    case n_regionkey when 0 then 'none' when 1 then 'one' end as w,
    x is null as missing
from (select n_nationkey, n_regionkey, case when n_regionkey > 2 then n_regionkey end as x from nation) as n
order by n_nationkey;
