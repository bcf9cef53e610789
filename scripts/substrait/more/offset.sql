select n_name from nation order by n_name limit 5 offset 3;
