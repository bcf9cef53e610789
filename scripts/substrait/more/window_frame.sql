select
    n_nationkey,
    sum(n_nationkey) over (partition by n_regionkey order by n_nationkey rows between 1 preceding and current row) as s,
    count(*) over (partition by n_regionkey) as c
from nation
order by n_nationkey;
