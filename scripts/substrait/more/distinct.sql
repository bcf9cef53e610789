select distinct o_orderstatus from orders order by o_orderstatus;
