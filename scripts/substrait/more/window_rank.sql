select
    n_name,
    row_number() over (partition by n_regionkey order by n_name) as r,
    rank() over (order by n_regionkey) as k,
    lag(n_name) over (partition by n_regionkey order by n_name) as before
from nation
order by n_name;
