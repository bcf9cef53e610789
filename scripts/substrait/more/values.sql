select x, y, z
from (values (1, 'one', 1.5), (2, 'three', 2.5), (3, cast(null as varchar(5)), 3.5)) as t (x, y, z)
order by x;
