select r_name, n_name
from (select * from nation where n_regionkey < 3) as n full join (select * from region where r_regionkey > 1) as r
    on n_regionkey = r_regionkey
order by r_name nulls first, n_name nulls last;
