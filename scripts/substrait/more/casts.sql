select
    cast(n_nationkey as varchar(10)) as s,
    cast(n_nationkey as double) as d,
    cast(n_nationkey as decimal(12, 2)) as e,
    cast('1999-12-31' as date) as f,
    cast(n_name as varchar(5)) as five
from nation
order by n_nationkey;
