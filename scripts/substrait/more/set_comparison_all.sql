select s_name from supplier
where s_acctbal >= all (select s_acctbal from supplier)
order by s_name;
