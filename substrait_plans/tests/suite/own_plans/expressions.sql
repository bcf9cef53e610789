-- Expressions over the table of same_rows.rs, one a line.
i + 1
i - k
i * 2
i / 2
i % 3
-i
u + 1
u % 2
d + 1
d * d
d / 3
d % 2
-d
f + 1
f / 0
f % 2
-f
i & 6
i | 1
i # 3
k << 2
k >> 1
abs(i)
abs(d)
abs(f)
sqrt(abs(i))
exp(0.5)
ln(k)
log10(k)
log(2, k)
power(k, 2)
round(d, 1)
round(f)
ceil(f)
floor(d)
trunc(f)
sin(f)
atan2(f, 2)
signum(f)
degrees(f)
gcd(i, 4)
isnan(f)
i = 7
i <> 7
i < 7
i <= 7
d > 1.5
f >= 0.1
word = 'one'
g IS NULL
g IS NOT NULL
b IS TRUE
b IS NOT FALSE
b IS UNKNOWN
NOT b
b AND i > 6
b OR i > 6
i IS DISTINCT FROM 7
i IS NOT DISTINCT FROM NULL
i BETWEEN 7 AND 10
i NOT BETWEEN 7 AND NULL
NOT (i BETWEEN 7 AND NULL)
k IN (1, 2, 3)
i IN (7, NULL)
g NOT IN ('a', 'b')
word LIKE 'one%'
word NOT LIKE '%two%'
word LIKE '%\_2'
word LIKE g || '%'
word ILIKE 'GR%'
word ~ '^o.*e$'
word ~* 'ONE'
word !~ 'one'
word SIMILAR TO '(one|two)%'
CASE WHEN i > 6 THEN 'big' WHEN i IS NULL THEN NULL ELSE 'small' END
CASE g WHEN 'a' THEN 1 WHEN 'b' THEN 2 END
CASE WHEN i > 0 THEN 10 / i END
coalesce(i, k, 0)
nullif(i, 7)
greatest(i, k)
least(i, 3, NULL)
nvl(i, 0)
CAST(i AS VARCHAR)
CAST(d AS INT)
CAST(f AS REAL)
CAST(k AS DECIMAL(10,3))
TRY_CAST(word AS INT)
CAST('2024-05-06' AS DATE)
CAST(day AS TIMESTAMP)
CAST(NULL AS INT)
CAST(i AS BIGINT UNSIGNED)
word || g || 'x'
concat(word, g, 1)
concat_ws('-', word, g)
lower(word)
upper(word)
initcap(word)
substring(word, 2)
substring(word FROM 1 FOR 2)
substring(word, -1, 3)
substr(word, i, 2)
trim(word)
trim(BOTH 'o' FROM word)
ltrim(word, 'o')
rtrim(word)
char_length(word)
octet_length(word)
bit_length(word)
strpos(word, 'w')
position('o' IN word)
replace(word, 'o', '0')
reverse(word)
left(word, 2)
right(word, 2)
lpad(word, 5, '*')
rpad(word, 5)
repeat(word, 2)
starts_with(word, 'on')
ends_with(word, 'o')
contains(word, 'ne')
split_part(word, '_', 1)
translate(word, 'o', '0')
ascii(word)
chr(65)
to_hex(k)
md5(word)
sha256(word)
encode(word, 'hex')
regexp_replace(word, 'o', '0')
regexp_like(word, 'o')
regexp_match(word, 'o(.)')
regexp_count(word, 'o')
extract(YEAR FROM day)
extract(MONTH FROM day)
extract(DAY FROM day)
extract(QUARTER FROM at)
extract(HOUR FROM at)
extract(MINUTE FROM at)
extract(SECOND FROM at)
extract(DOW FROM day)
extract(WEEK FROM day)
extract(EPOCH FROM at)
extract(HOUR FROM zoned)
date_trunc('month', at)
date_trunc('hour', zoned)
day + INTERVAL '1' MONTH
at - INTERVAL '90' MINUTE
zoned + INTERVAL '1' DAY
day - DATE '2024-01-01'
at - TIMESTAMP '2024-01-01 00:00:00'
date_bin(INTERVAL '15' MINUTE, at)
to_char(day, '%Y/%m')
make_date(2024, i, 1)
day < DATE '2024-02-01'
at > TIMESTAMP '2024-01-31 12:00:00'
to_timestamp('2024-01-01T00:00:00Z')
to_date('2024-01-01')
INTERVAL '1' YEAR
l[1]
l[2:3]
array_length(l)
cardinality(l)
array_has(l, 2)
array_to_string(l, ',')
make_array(k, i)
l || 4
array_append(l, 9)
make_array(1, NULL)
named_struct('a', k, 'b', g)
struct(k, g)
MAP {'a': k}
map_keys(MAP {'a': k})
X'DEADBEEF'
TIME '12:34:56'
CAST(0.5 AS DECIMAL(50,40))
CAST(d AS DOUBLE)
CAST(d AS REAL)
TRY_CAST(d * d AS DOUBLE)
f < -22.632464605522294
CAST(d AS DOUBLE) < f
