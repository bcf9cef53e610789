select r_name from region
where exists (
    select 1 from nation
    where n_regionkey = r_regionkey
        and exists (
            select 1 from supplier where s_nationkey = n_nationkey and s_suppkey < r_regionkey + 20
        )
)
order by r_name;
