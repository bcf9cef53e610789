select r_name, (select count(*) from nation where n_regionkey = r_regionkey and n_name < 'F') as nations
from region
order by r_name;
