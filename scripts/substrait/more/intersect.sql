select n_nationkey as key from nation
intersect
select s_nationkey from supplier where s_acctbal > 9000
order by key;
