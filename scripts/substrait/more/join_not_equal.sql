select a.n_name as an, b.n_name as other
from nation a join nation b on a.n_regionkey = b.n_regionkey and a.n_nationkey < b.n_nationkey
order by a.n_name, b.n_name;
