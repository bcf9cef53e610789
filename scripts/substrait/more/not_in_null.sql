select n_name from nation
where n_nationkey not in (select case when r_regionkey > 2 then r_regionkey end from region)
order by n_name;
