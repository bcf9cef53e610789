select
    count(*) filter (where n_regionkey = 1) as some_nations,
    sum(n_nationkey) filter (where n_name like 'A%') as keys
from nation;
