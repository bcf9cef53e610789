select
    s_acctbal + 1 as a,
    s_acctbal * s_acctbal as b,
    s_acctbal / 3 as c,
    s_acctbal - s_suppkey as d,
    cast(s_acctbal as decimal(10, 1)) as e
from supplier
where s_suppkey <= 20
order by s_suppkey;
