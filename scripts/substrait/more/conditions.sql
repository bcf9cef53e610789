select n_name
from nation
where (n_nationkey between 3 and 20 and n_regionkey not in (0, 2) and n_name is not null)
    or (n_nationkey is not distinct from 1)
    or not (n_name >= 'B')
order by n_name;
