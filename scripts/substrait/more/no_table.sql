select 1 + 2 as three, 'text' as t, date '2001-02-03' as d;
