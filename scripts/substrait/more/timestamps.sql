select o_orderkey
from orders
where cast(o_orderdate as timestamp) between timestamp '1996-01-01 00:00:00' and timestamp '1996-01-10 12:30:45.5'
order by o_orderkey;
