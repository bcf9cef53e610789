select
    extract(month from o_orderdate) as m,
    extract(day from o_orderdate) as d,
    extract(quarter from o_orderdate) as q,
    o_orderdate + interval '1' month as month_on,
    o_orderdate - interval '10' day as days_back
from orders
where o_orderkey <= 100
order by o_orderkey;
