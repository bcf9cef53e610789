select * from (select n_nationkey, n_name from nation where n_nationkey < 3) as a
    cross join (select n_nationkey, n_name from nation where n_nationkey > 22) as b
order by a.n_nationkey, b.n_nationkey;
