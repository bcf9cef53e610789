select min(n_name) as first_name, max(n_name) as last_name from nation;
