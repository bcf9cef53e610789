select
    abs(s_acctbal) as a,
    floor(s_acctbal) as f,
    ceil(s_acctbal) as c,
    s_suppkey % 7 as m,
    sqrt(cast(s_suppkey as double)) as r,
    power(cast(s_suppkey as double), 2) as p,
    ln(cast(s_suppkey as double)) as l,
    (s_suppkey - s_suppkey % 7) / 7 as q
from supplier
where s_suppkey <= 20
order by s_suppkey;
