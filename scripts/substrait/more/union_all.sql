select n_name as name from nation where n_regionkey = 1
union all
select r_name from region
order by name;
