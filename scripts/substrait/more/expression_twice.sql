select n_regionkey + 1 as a, n_regionkey + 1 as b, n_regionkey, count(*) as c, count(*) as d
from nation
group by n_regionkey
order by n_regionkey;
