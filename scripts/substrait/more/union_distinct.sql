select n_regionkey as key from nation
union
select r_regionkey from region
order by key;
