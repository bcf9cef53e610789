select n_name from nation where n_comment like '%!%%' escape '!' or n_name not like '%A%' order by n_name;
