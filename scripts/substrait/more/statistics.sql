select
    stddev_pop(s_acctbal) as d,
    stddev_samp(s_acctbal) as e,
    var_pop(s_acctbal) as v,
    avg(distinct s_nationkey) as a,
    count(distinct s_nationkey) as n
from supplier;
