select n_name from nation
where n_nationkey > any (select r_regionkey + 20 from region)
order by n_name;
