select -s_acctbal as n from supplier where s_suppkey <= 20 order by s_suppkey;
