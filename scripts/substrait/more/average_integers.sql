select avg(n_regionkey) as a, avg(n_nationkey) as b, sum(n_nationkey) as s from nation;
