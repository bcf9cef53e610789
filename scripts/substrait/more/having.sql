select n_regionkey, count(*) as nations, min(n_nationkey) as least, max(n_nationkey) as most
from nation
group by n_regionkey
having min(n_nationkey) < 3
order by n_regionkey;
