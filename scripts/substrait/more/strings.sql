select
    upper(n_name) as u,
    lower(n_name) as l,
    char_length(n_comment) as n,
    n_comment || '!' as c,
    trim(n_name) as t,
    position('A' in n_name) as p,
    substring(n_comment from 5) as rest,
    substring(n_comment from 2 for 3) as middle
from nation
order by n_nationkey;
