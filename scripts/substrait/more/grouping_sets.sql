select o_orderstatus, o_orderpriority, count(*) as orders
from orders
group by grouping sets ((o_orderstatus, o_orderpriority), (o_orderstatus), ())
order by o_orderstatus nulls first, o_orderpriority nulls first;
