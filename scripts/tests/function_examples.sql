-- The example of each function in docs/functions.md, which functions_page.py runs. In comments before an example: arguments and types, where the
-- catalogue has none, and a line, where its own is poor. A function is called as `SELECT example`; an aggregate and a window function FROM scores;
-- a table function in FROM.

CREATE TABLE scores (name VARCHAR, team VARCHAR, points BIGINT, hours DOUBLE);
INSERT INTO scores VALUES ('Ann', 'red', 3, 1), ('Bob', 'red', 5, 2), ('Cleo', 'blue', 5, 2.5), ('Dan', 'blue', 9, 4.5);
COPY scores TO 'scores.csv';
COPY scores TO 'scores.parquet';
COPY scores TO 'scores.json';
COPY scores TO 'scores.arrow';
CREATE TABLE squares AS SELECT 0 AS i, 0 AS j, CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)) AS block;
CREATE TABLE pairs AS SELECT 0 AS i, CAST([1, 1] AS DOUBLE[2]) AS block;
CREATE ARRAY grid (y 2, x 3) OF INTEGER WITH TAGS (level = 0);
UPDATE ARRAY grid SET REGION [:, :] = [1, 2, 3, 4, 5, 6];
CREATE GROUP mesh;
ALTER GROUP mesh ADD ARRAY grid;
CREATE EXTERNAL TABLE choices STORED AS ARROW LOCATION 'choices.arrow';

-- ## Numbers
abs(-3);
ceil(1.2);
floor(-1.2);
-- round(number[, decimals integer]) → number
-- A number rounded to some decimals, by default to none; halves away from zero.
round(2.345, 2);
-- trunc(number[, decimals integer]) → number
-- A number cut off after some decimals, by default after none.
trunc(-2.78, 1);
-- The sign of a number: -1, 0 or 1.
signum(-2.5);
sqrt(2);
cbrt(27);
power(2, 10);
-- exp(number) → number
exp(0);
ln(1);
-- log([base number, ]number) → number
-- The logarithm to a base, by default to 10.
log(2, 8);
log10(1000);
log2(8);
-- gcd(integer, integer) → integer
-- The greatest common divisor.
gcd(12, 18);
-- lcm(integer, integer) → integer
-- The least common multiple.
lcm(4, 6);
-- The product of all whole numbers up to this one.
factorial(5);
-- pi() → number
pi();
degrees(pi());
radians(180);
sin(0);
cos(0);
tan(0);
cot(1);
asin(1);
acos(1);
atan(1);
-- atan2(y number, x number) → number
-- The angle of the point (x, y), from -π to π.
atan2(1, -1);
sinh(0);
cosh(0);
tanh(0);
asinh(0);
acosh(1);
atanh(0);
-- Whether a number is NaN.
isnan('NaN'::DOUBLE);
-- Whether a number is 0.
iszero(0.0);
-- nanvl(x number, y number) → number
-- x, or y if x is NaN.
nanvl('NaN'::DOUBLE, 1);
-- width_bucket(x number, low number, high number, n integer) → integer
-- The number of the bucket, of n equal ones from low to high, that a value falls into. Also `width_bucket(x, edges)`: see [kernels.md](kernels.md).
width_bucket(5.5, 0, 10, 4);
-- random() → number
-- A random number from 0 to less than 1, another one in each row.
random() < 1;
to_hex(255);

-- ## Text
-- length(text) → integer
length('Quiver');
octet_length('Größe');
bit_length('abc');
lower('Quiver');
upper('Quiver');
initcap('the first hour');
-- concat(value[, …]) → text
-- Values as one text; NULL is left out.
concat('a', NULL, 1);
-- concat_ws(separator text, value[, …]) → text
-- Values as one text with a separator between them; NULL is left out.
concat_ws('-', 'a', NULL, 'c');
-- substr(text, start integer[, length integer]) → text
-- A part of a text, from a position that counts from 1.
substr('Quiver', 2, 3);
left('Quiver', 2);
right('Quiver', 2);
lpad('7', 3, '0');
rpad('7', 3, '.');
-- trim(text[, characters text]) → text
-- A text without spaces, or these characters, at both ends.
trim('xxhixx', 'x');
-- ltrim(text[, characters text]) → text
-- The same at the start only.
ltrim('  hi');
-- rtrim(text[, characters text]) → text
-- The same at the end only.
rtrim('hi  ');
repeat('ab', 3);
reverse('abc');
replace('a-b-c', '-', '+');
-- Each character of `from` replaced with the one at the same position of `to`.
translate('2.718,5', '.,', ',.');
-- overlay(text, part text, start integer[, count integer]) → text
-- A text with a part of it replaced. Also `overlay(x PLACING part FROM start FOR count)`.
overlay('Quiver', 'a', 2, 3);
-- strpos(text, part text) → integer
-- The position of a part, from 1; 0 if the text has no such part. Also `position(part IN x)`.
strpos('Quiver', 'v');
-- contains(text, part text) → boolean
-- Whether a text has this part.
contains('Quiver', 'ive');
starts_with('Quiver', 'Qu');
ends_with('Quiver', 'er');
split_part('a,b,c', ',', 2);
-- substr_index(text, delimiter text, count integer) → text
-- The text before so many delimiters; with a negative number, behind so many from the end.
substr_index('www.example.org', '.', 2);
-- find_in_set(text, list text) → integer
-- The position of a text in a list with commas, from 1; 0 if it is not there.
find_in_set('b', 'a,b,c');
-- levenshtein(text, text) → integer
-- How many characters must be changed, added or removed to make one text of the other.
levenshtein('kitten', 'sitting');
-- The code of the first character.
ascii('A');
-- chr(integer) → text
-- The character of a code.
chr(65);
-- string_to_array(text, delimiter text[, null text]) → list
-- The parts of a text as a list; a part that is `null` is NULL.
string_to_array('a,b,-', ',', '-');
-- uuid() → text
-- A random UUID of version 4, another one in each row.
length(uuid());

-- ## Regular expressions
-- Whether a text matches somewhere.
regexp_like('Quiver 2026', '[0-9]+');
-- The first match: its groups, or all of it if there are none.
regexp_match('2026-11-27', '(\d+)-(\d+)');
-- A text with the first match replaced; the flag g replaces all.
regexp_replace('a1b22', '[0-9]+', '#', 'g');
-- How many matches a text has.
regexp_count('a1b22', '[0-9]+');
-- The position of a match, from 1; 0 if there is none.
regexp_instr('ab12', '[0-9]');

-- ## Dates and times
-- now() → timestamp with time zone
-- The time at which the statement began.
now() > TIMESTAMPTZ '2020-01-01 00:00:00Z';
-- current_date() → date
-- The date at which the statement began, in the time zone of the session. Also without parentheses.
current_date() > DATE '2020-01-01';
-- current_time() → time
-- The time of day at which the statement began, in the time zone of the session.
current_time() >= TIME '00:00:00';
make_date(2026, 11, 27);
make_time(14, 30, 0);
-- date_part(part text, date/time/timestamp/interval) → integer or number
-- A part of a time, such as `year`, `month`, `week`, `dow`, `doy`, `hour`, `epoch`. Also `extract(year FROM x)`.
date_part('year', DATE '2026-11-27');
-- date_trunc(part text, date/time/timestamp) → time or timestamp
-- The start of the year, month, day, hour… that a time lies in.
date_trunc('month', TIMESTAMP '2026-11-27 14:30:00');
-- date_bin(width interval, date/time/timestamp[, origin timestamp]) → time or timestamp
-- The start of the interval that a time lies in; intervals of this width follow each other from the origin, by default 1970.
date_bin(INTERVAL '15 minutes', TIMESTAMP '2026-11-27 14:40:00');
-- to_char(date/time/timestamp, pattern text) → text
-- A time as text, by a pattern of PostgreSQL, or one with `%` as in `strftime`: [sql.md](sql.md).
to_char(TIMESTAMP '2026-11-27 14:30:00', 'DD.MM.YYYY HH24:MI');
-- to_date(text/integer/timestamp[, pattern text, …]) → date
-- The date that a text gives, by a pattern if it is not written as 2026-11-27; of a number, that many days after 1970.
to_date('27.11.2026', 'DD.MM.YYYY');
-- to_time(text/timestamp[, pattern text, …]) → time
-- The time of day that a text gives.
to_time('14:30');
-- to_timestamp(text/number/timestamp[, pattern text, …]) → timestamp with time zone
-- The time that a text gives, in the time zone of the session; of a number, that many seconds after 1970.
to_timestamp('27.11.2026 14:30', 'DD.MM.YYYY HH24:MI');
-- to_timestamp_seconds(text/number/timestamp[, pattern text, …]) → timestamp with time zone
-- The same, with a whole number of seconds.
to_timestamp_seconds(1795789800);
-- to_timestamp_millis(text/number/timestamp[, pattern text, …]) → timestamp with time zone
-- The same; a number counts milliseconds.
to_timestamp_millis(1795789800123);
-- to_timestamp_micros(text/number/timestamp[, pattern text, …]) → timestamp with time zone
-- The same; a number counts microseconds.
to_timestamp_micros(1795789800123456);
-- to_timestamp_nanos(text/number/timestamp[, pattern text, …]) → timestamp with time zone
-- The same; a number counts nanoseconds.
to_timestamp_nanos(1795789800123456789);
-- from_unixtime(seconds integer[, zone text]) → timestamp
-- The time that is so many seconds after 1970.
from_unixtime(1795789800);
-- to_unixtime(text/integer/date/timestamp[, pattern text, …]) → integer
-- The seconds from 1970 to a time; patterns are those with `%`.
to_unixtime(TIMESTAMP '2026-11-27 14:30:00');
-- timezone(zone text, timestamp) → timestamp
-- What `x AT TIME ZONE zone` means: the clock of a zone at a time with a time zone, and the other way round.
timezone('Europe/Berlin', TIMESTAMPTZ '2026-11-27 14:30:00Z');
-- to_local_time(timestamp with time zone) → timestamp
-- The clock of the time zone of a value.
to_local_time(TIMESTAMPTZ '2026-11-27 14:30:00Z');

-- ## Conditions
-- coalesce(value[, …]) → value
-- The first value that is not NULL.
coalesce(NULL, 2, 3);
-- nvl(value, value) → value
-- The first value, or the second if that is NULL.
nvl(NULL, 2);
-- ifnull(value, value) → value
-- The same.
ifnull(NULL, 2);
-- nullif(value, value) → value
-- NULL if both values are equal, otherwise the first.
nullif(0, 0);
-- nvl2(value, a value, b value) → value
-- a if the first value is not NULL, otherwise b.
nvl2(NULL, 'a', 'b');
-- greatest(value[, …]) → value
-- The greatest of values; NULL is left out.
greatest(1, 3, NULL);
-- least(value[, …]) → value
-- The least of values; NULL is left out.
least(1, 3, NULL);

-- ## Lists
-- make_array([value, …]) → list
-- A list of values. Also `[1, 2]`.
make_array(1, 2);
-- range(start, stop[, step]) → list
-- Numbers, dates or times from start to before stop. With one argument, from 0.
range(1, 10, 3);
-- generate_series(start, stop[, step]) → list
-- The same, with stop.
generate_series(DATE '2026-01-30', DATE '2026-02-01', INTERVAL '1 day');
-- array_length(list[, dimension integer]) → integer
-- How many elements a list has.
array_length([1, 2, 3]);
-- cardinality(list or map) → integer
-- How many elements a list has, those of inner lists too, or how many keys a map has.
cardinality([[1, 2], [3]]);
-- empty(list) → boolean
-- Whether a list has no elements.
empty([1]);
-- array_ndims(list) → integer
-- How deep lists are nested.
array_ndims([[1, 2], [3, 4]]);
-- array_dims(list) → list
-- The length of a list, of its first inner list, and so on.
array_dims([[1, 2], [3, 4]]);
-- array_element(list, position integer) → value
-- The element at a position, from 1, or from the end if it is negative. Also `list[position]`.
array_element([1, 2, 3], -1);
-- array_slice(list, first integer, last integer[, step integer]) → list
-- The elements from one position to another. Also `list[first:last]`.
array_slice([1, 2, 3, 4], 2, 3);
-- array_any_value(list) → value
-- The first element that is not NULL.
array_any_value([NULL, 2, 3]);
-- array_append(list, value) → list
array_append([1, 2], 3);
-- array_prepend(value, list) → list
array_prepend(1, [2, 3]);
-- array_concat(list[, …]) → list
array_concat([1, 2], [3]);
-- array_pop_back(list) → list
array_pop_back([1, 2, 3]);
-- array_pop_front(list) → list
array_pop_front([1, 2, 3]);
-- array_resize(list, size integer[, value]) → list
-- A list of this length: cut off, or filled up with a value.
array_resize([1, 2], 4, 0);
-- array_repeat(value, count integer) → list
-- A list with a value so many times.
array_repeat('a', 3);
-- array_reverse(list) → list
-- A list from its end to its start.
array_reverse([1, 2, 3]);
-- array_sort(list[, order text[, nulls text]]) → list
-- The elements in order: `'ASC'` or `'DESC'`, and `'NULLS FIRST'` or `'NULLS LAST'`.
array_sort([3, 1, 2], 'DESC');
-- array_distinct(list) → list
-- Each element once.
array_distinct([1, 2, 1]);
-- array_compact(list) → list
-- A list without its NULLs.
array_compact([1, NULL, 2]);
-- flatten(list of lists) → list
-- The elements of inner lists as one list.
flatten([[1, 2], [3]]);
-- array_has(list, value) → boolean
-- Whether a list has this element.
array_has([1, 2], 2);
-- array_has_all(list, list) → boolean
-- Whether the first list has all elements of the second.
array_has_all([1, 2, 3], [1, 3]);
-- array_has_any(list, list) → boolean
-- Whether two lists have an element in common.
array_has_any([1, 2], [2, 3]);
-- array_position(list, value[, start integer]) → integer
-- The first position of an element, from 1; NULL if it is not there.
array_position(['a', 'b', 'b'], 'b');
-- array_positions(list, value) → list
-- All positions of an element.
array_positions(['a', 'b', 'b'], 'b');
-- array_remove(list, value) → list
-- A list without the first element that is equal to a value.
array_remove([1, 2, 1], 1);
-- array_remove_n(list, value, count integer) → list
-- A list without the first so many of them.
array_remove_n([1, 2, 1, 1], 1, 2);
-- array_remove_all(list, value) → list
-- A list without any of them.
array_remove_all([1, 2, 1], 1);
-- array_replace(list, from value, to value) → list
-- A list with the first element that is equal to a value replaced.
array_replace([1, 2, 1], 1, 0);
-- array_replace_n(list, from value, to value, count integer) → list
-- A list with the first so many of them replaced.
array_replace_n([1, 2, 1, 1], 1, 0, 2);
-- array_replace_all(list, from value, to value) → list
-- A list with all of them replaced.
array_replace_all([1, 2, 1], 1, 0);
-- array_union(list, list) → list
-- The elements of both lists, each once.
array_union([1, 2], [2, 3]);
-- array_intersect(list, list) → list
-- The elements that both lists have, each once.
array_intersect([1, 2], [2, 3]);
-- array_except(list, list) → list
-- The elements of the first list that the second has not, each once.
array_except([1, 2], [2, 3]);
-- arrays_zip(list[, …]) → list
-- Structs of the elements at the same position; a shorter list is filled up with NULL.
arrays_zip([1, 2], ['a', 'b']);
-- array_to_string(list, delimiter text[, null text]) → text
-- The elements as one text.
array_to_string([1, NULL, 3], '-', '?');
-- array_min(list) → value
-- The least element.
array_min([3, 1, 2]);
-- array_max(list) → value
-- The greatest element.
array_max([3, 1, 2]);
-- array_sum(list) → number
-- The sum of the elements; NULL is left out.
array_sum([1, 2, 3]);
-- array_avg(list) → number
-- The mean of the elements; NULL is left out.
array_avg([1, 2, 3]);
-- array_product(list) → number
-- The product of the elements; NULL is left out.
array_product([2, 3, 4]);
-- array_add(list, list) → list
-- Two lists of numbers added, element by element.
array_add([1, 2], [10, 20]);
-- array_subtract(list, list) → list
-- Two lists of numbers subtracted, element by element.
array_subtract([10, 20], [1, 2]);
-- array_scale(list, number) → list
-- Each element times a number.
array_scale([1, 2], 3);
-- array_normalize(list) → list
-- A list divided by its Euclidean length.
array_normalize([3, 4]);
-- array_distance(list, list) → number
-- The Euclidean distance of two lists of numbers.
array_distance([0, 0], [3, 4]);
-- inner_product(list, list) → number
-- The sum of the products of the elements.
inner_product([1, 2], [3, 4]);

-- ## Structs, maps and unions
-- struct(value[, …]) → struct
-- A struct of values. Names are c0, c1… unless given: `struct(1 AS a)`.
struct(1, 'x');
-- named_struct(name text, value[, …]) → struct
-- A struct of names and values. Also `{a: 1}`.
named_struct('a', 1, 'b', 'x');
-- get_field(struct or map, name[, …]) → value
-- A field of a struct, or the value of a key. Also `x['a']`, and `x.a` of a column.
get_field(named_struct('a', 1), 'a');
-- map(keys list, values list) → map
-- A map of a list of keys and a list of values. Also `MAP {'a': 1}`.
map(['a', 'b'], [1, 2]);
-- map_keys(map) → list
-- The keys of a map.
map_keys(MAP {'a': 1, 'b': 2});
-- map_values(map) → list
-- The values of a map.
map_values(MAP {'a': 1, 'b': 2});
-- map_entries(map) → list
-- The keys and values of a map as structs.
map_entries(MAP {'a': 1});
-- map_extract(map, key value) → list
-- The value of a key in a list, which is empty if the map has no such key.
map_extract(MAP {'a': 1}, 'a');

-- union_tag(union) → text
-- The name of the field that a value of a union has.
SELECT union_tag(choice) FROM choices;
-- union_extract(union, name text) → value
-- A field of a union; NULL where it has another one.
SELECT union_extract(choice, 'number') FROM choices;

-- ## Bytes and hashes
-- The bytes of a text or BLOB as text: `'hex'` or `'base64'`.
encode('abc', 'base64');
-- The bytes that a text means, in `'hex'` or `'base64'`.
decode('YWJj', 'base64');
-- The MD5 sum, as hexadecimal text.
md5('abc');
sha224('abc');
sha256('abc');
-- sha384(bytes/text) → bytes
left(encode(sha384('abc'), 'hex'), 16);
-- sha512(bytes/text) → bytes
left(encode(sha512('abc'), 'hex'), 16);
-- A checksum by the name of its algorithm: `'md5'`, `'sha256'`, `'sha512'`, `'blake2b'`, `'blake2s'`, `'blake3'` and others.
digest('abc', 'blake2s');

-- ## Types
-- arrow_typeof(value) → text
-- The Arrow type of a value. `DESCRIBE SELECT …` shows SQL's names.
arrow_typeof(1.5);
-- arrow_cast(value, type text) → value
-- A value as an Arrow type.
arrow_cast(1, 'Int16');
-- arrow_try_cast(value, type text) → value
-- The same, but NULL where the cast fails.
arrow_try_cast('x', 'Int16');
-- cast_to_type(value, reference value) → value
-- A value as the type of another one.
cast_to_type('3', 1);
-- try_cast_to_type(value, reference value) → value
-- The same, but NULL where the cast fails.
try_cast_to_type('x', 1);
-- arrow_field(value) → struct
-- The Arrow field of a value: its name, type and metadata.
arrow_field(1);
-- with_metadata(value, key text, text[, …]) → value
-- A value whose Arrow field has this metadata.
with_metadata(1, 'unit', 'm');
-- arrow_metadata(value[, key text]) → map or text
-- The metadata of the Arrow field of a value.
arrow_metadata(with_metadata(1, 'unit', 'm'), 'unit');

-- ## The session
-- version() → text
-- The version of Quiver.
split_part(version(), ' ', 1);
-- current_user() → text
-- The user of a server; NULL without one. Also without parentheses.
current_user();
-- session_user() → text
-- The same.
session_user();

-- ## Vectors and matrices
-- dot(vector, vector) → number
dot([1, 2], [3, 4]);
-- l1_norm(vector) → number
l1_norm([3, -4]);
-- l2_norm(vector) → number
l2_norm([3, -4]);
-- max_norm(vector) → number
max_norm([3, -4]);
-- l2_distance(vector, vector) → number
l2_distance([0, 0], [3, 4]);
-- cosine_distance(vector, vector) → number
cosine_distance([1, 0], [0, 1]);
-- kmeans_assign(vector, centroids list) → integer
kmeans_assign([1, 1], [[0, 0], [1, 2]]);
-- matrix_add(matrix, matrix) → matrix
matrix_add(CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)), CAST([1, 0, 0, 1] AS TENSOR(DOUBLE, 2, 2)));
-- matrix_scale(matrix, number) → matrix
matrix_scale(CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)), 2);
-- matrix_transpose(matrix) → matrix
matrix_transpose(CAST([1, 2, 3, 4, 5, 6] AS TENSOR(DOUBLE, 2, 3)));
-- matrix_multiply(matrix, matrix) → matrix
matrix_multiply(CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)), CAST([1, 1, 0, 1] AS TENSOR(DOUBLE, 2, 2)));
-- matrix_vector(matrix, vector) → vector
matrix_vector(CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)), [1, 1]);

-- ## Functions of other systems
-- year(time) → integer
year(DATE '2024-02-03');
-- quarter(time) → integer
quarter(DATE '2024-02-03');
-- month(time) → integer
month(DATE '2024-02-03');
-- week(time) → integer
week(DATE '2024-02-03');
-- day(time) → integer
day(DATE '2024-02-03');
-- dayofweek(time) → integer
dayofweek(DATE '2024-02-03');
-- isodow(time) → integer
isodow(DATE '2024-02-03');
-- dayofyear(time) → integer
dayofyear(DATE '2024-02-03');
-- hour(time) → integer
hour(TIMESTAMP '2024-02-03 10:20:30');
-- minute(time) → integer
minute(TIMESTAMP '2024-02-03 10:20:30');
-- second(time) → integer
second(TIMESTAMP '2024-02-03 10:20:30');
-- epoch(time) → number
epoch(TIMESTAMP '2024-02-03 10:20:30');
-- dayname(time) → text
dayname(DATE '2024-02-03');
-- monthname(time) → text
monthname(DATE '2024-02-03');
-- last_day(time) → date
last_day(DATE '2024-02-03');
-- strftime(time, pattern text) → text
strftime(DATE '2024-02-03', '%d.%m.%Y');
-- strptime(text, pattern text) → timestamp
strptime('3.2.2024', '%d.%m.%Y');
-- date_add(date, step interval) → date
date_add(DATE '2024-02-03', INTERVAL '1 week');
-- date_diff(part text, a time, b time) → integer
-- How many years, quarters, months, days, hours, minutes or seconds begin from a to b, and how many whole weeks there are.
date_diff('month', DATE '2023-12-31', DATE '2024-02-03');
-- time_bucket(step interval, time) → timestamp
-- The begin of the step of time in which it lies; weeks begin on Mondays.
time_bucket(INTERVAL '15 minutes', TIMESTAMP '2024-02-03 10:20:30');
-- curdate() → date
date_part('year', curdate()) > 2000;
-- getdate() → timestamp
getdate() > TIMESTAMP '2000-01-01';
-- to_years(number) → interval
to_years(2);
-- to_months(number) → interval
to_months(2);
-- to_weeks(number) → interval
to_weeks(2);
-- to_days(number) → interval
to_days(2);
-- to_hours(number) → interval
to_hours(2);
-- to_minutes(number) → interval
to_minutes(2);
-- to_seconds(number) → interval
to_seconds(2);
-- len(text or list) → integer
len('abc');
-- strlen(text) → integer
strlen('né');
-- ucase(text) → text
ucase('abc');
-- lcase(text) → text
lcase('ABC');
-- prefix(text, start text) → boolean
prefix('abc', 'ab');
-- suffix(text, ending text) → boolean
suffix('abc', 'bc');
-- string_split(text, separator text) → list
string_split('a,b', ',');
-- regexp_matches(text, pattern text[, options text]) → boolean
-- Whether the pattern matches a part of the text.
regexp_matches('abc', '^A', 'i');
-- regexp_extract(text, pattern text[, group integer]) → text
-- What the pattern or one of its groups matches; an empty text if it does not match.
regexp_extract('abc123', '([a-z]+)([0-9]+)', 2);
-- to_base64(bytes) → text
to_base64('abc');
-- from_base64(text) → bytes
from_base64('YWJj');
-- unhex(text) → bytes
unhex('6162');
-- unicode(text) → integer
unicode('é');
-- gen_random_uuid() → text
length(gen_random_uuid());
-- typeof(value) → text
-- The name of the type of a value.
typeof([1.5, 2]);
-- pg_typeof(value) → text
-- The same.
pg_typeof(1);
-- mod(a number, b number) → number
mod(-7, 3);
-- sign(number) → number
sign(-2.5);
-- isinf(number) → boolean
isinf(CAST('-inf' AS DOUBLE));
-- isfinite(number) → boolean
isfinite(CAST('NaN' AS DOUBLE));
-- if(condition boolean, a value, b value) → value
if(1 > 2, 'yes', 'no');
-- isnull(value) → boolean
isnull(NULL);
-- current_schema() → text
current_schema();
-- struct_extract(struct, field text) → value
struct_extract({'a': 1, 'b': 2}, 'b');

-- ## Aggregates
-- count(value) → integer
-- How many values are not NULL; `count(*)` counts rows.
count(DISTINCT points);
-- The sum; of no values NULL.
sum(points);
-- The mean.
avg(points);
-- min(value) → value
-- The least value.
min(name);
-- max(value) → value
-- The greatest value.
max(points);
-- any_value(value) → value
-- Some value that is not NULL.
any_value(points) > 0;
-- first_value(value [ORDER BY …]) → value
-- The first value in an order.
first_value(name ORDER BY points DESC);
-- last_value(value [ORDER BY …]) → value
-- The last value in an order.
last_value(name ORDER BY points);
-- nth_value(value, n integer [ORDER BY …]) → value
-- The nth value in an order.
nth_value(name, 2 ORDER BY name);
-- array_agg(value [ORDER BY …]) → list
-- A list of the values.
array_agg(name ORDER BY points DESC, name);
-- string_agg(text, separator text [ORDER BY …]) → text
-- The values as one text.
string_agg(name, ', ' ORDER BY name);
-- True if all values are true.
bool_and(points > 3);
-- True if some value is true.
bool_or(points > 8);
-- The bitwise AND of all values.
bit_and(points);
-- The bitwise OR of all values.
bit_or(points);
-- The bitwise XOR of all values.
bit_xor(points);
-- grouping(column, …) → integer
-- 1 in the rows that GROUPING SETS, ROLLUP and CUBE make without the column, else 0.
SELECT team, sum(points), grouping(team) FROM scores GROUP BY ROLLUP (team) ORDER BY team;

-- ## Aggregates: statistics
-- The median, interpolated between two values.
median(hours);
-- quantile_cont(number, q number) → number
-- The exact quantile of numbers, interpolated; q from 0 to 1, or a list of such. Also `quantile_cont(q) WITHIN GROUP (ORDER BY x)`.
quantile_cont(points, 0.75);
-- quantile_disc(value, q number) → value
-- The exact quantile as one of the values, of any type that has an order.
quantile_disc(points, 0.75);
-- histogram(number, edges list) → list
-- How many values lie between each two edges: see [kernels.md](kernels.md).
histogram(points, [0, 4, 8, 12]);
-- approx_distinct(value) → integer
-- About how many different values there are (HyperLogLog).
approx_distinct(points);
-- The median, approximately (t-digest).
approx_median(hours);
-- approx_percentile_cont(number, q number) → number
-- A quantile, approximately (t-digest).
approx_percentile_cont(points, 0.75);
-- approx_percentile_cont_with_weight(number, weight number, q number) → number
-- The same of values with weights.
approx_percentile_cont_with_weight(points, hours, 0.75);
-- The standard deviation of a sample.
stddev(points);
-- The standard deviation of all there is.
stddev_pop(points);
-- The variance of a sample.
var(points);
-- The variance of all there is.
var_pop(points);
-- The covariance of a sample.
covar_samp(points, hours);
-- The covariance of all there is.
covar_pop(points, hours);
-- The correlation of two numbers, from -1 to 1.
corr(points, hours);
-- regr_slope(y number, x number) → number
-- The slope of the line y = slope·x + intercept that fits best.
regr_slope(points, hours);
-- regr_intercept(y number, x number) → number
-- Its intercept.
regr_intercept(points, hours);
-- regr_r2(y number, x number) → number
-- The part of the variance that the line explains.
regr_r2(points, hours);
-- regr_count(y number, x number) → integer
-- How many pairs have no NULL.
regr_count(points, hours);
-- regr_avgx(y number, x number) → number
-- The mean of x.
regr_avgx(points, hours);
-- regr_avgy(y number, x number) → number
-- The mean of y.
regr_avgy(points, hours);
-- regr_sxx(y number, x number) → number
-- The sum of the squares of x less its mean.
regr_sxx(points, hours);
-- regr_syy(y number, x number) → number
-- The same of y.
regr_syy(points, hours);
-- regr_sxy(y number, x number) → number
-- The sum of the products of both less their means.
regr_sxy(points, hours);
-- covariance_matrix(number, …) → list
covariance_matrix(points, hours);
-- correlation_matrix(number, …) → list
correlation_matrix(points, hours);
-- linear_regression(y number, x number, …) → struct
linear_regression(points, points);
-- kmeans_step(vector, centroids list) → struct
kmeans_step([points, hours], [[4, 2], [9, 4]]);
-- sum_product(matrix, matrix) → matrix
-- The sum of products of matrices: see [kernels.md](kernels.md).
sum_product(CAST([points] AS TENSOR(DOUBLE, 1, 1)), CAST([hours] AS TENSOR(DOUBLE, 1, 1)));

-- ## Aggregates: of other systems
-- count_if(condition boolean) → integer
count_if(points > 3);
-- list(value) → list
list(points ORDER BY name);
-- group_concat(text[, separator text]) → text
-- The texts one behind the other, with a comma or another separator in between.
group_concat(name ORDER BY name);
-- first(value) → value
first(name ORDER BY points);
-- last(value) → value
last(name ORDER BY points);
-- arg_max(x value, y value) → value
arg_max(name, points);
-- arg_min(x value, y value) → value
arg_min(name, points);
-- approx_count_distinct(value) → integer
approx_count_distinct(points);
-- approx_quantile(number, fraction number) → number
approx_quantile(points, 0.5);
-- favg(number) → number
favg(points);
-- fsum(number) → number
fsum(hours);

-- ## Window functions
-- row_number() → integer
-- The number of the row, from 1.
row_number() OVER (ORDER BY name);
-- rank() → integer
-- The rank of the row; equal rows have one, and the next ranks are left out.
rank() OVER (ORDER BY points);
-- dense_rank() → integer
-- The rank of the row; equal rows have one, and no ranks are left out.
dense_rank() OVER (ORDER BY points);
-- percent_rank() → number
-- (rank - 1) / (rows - 1).
percent_rank() OVER (ORDER BY points);
-- cume_dist() → number
-- The part of the rows that come before this one or are equal to it.
cume_dist() OVER (ORDER BY points);
-- ntile(n integer) → integer
-- The number of the part, from 1, if the rows are divided into n parts.
ntile(2) OVER (ORDER BY name);
-- lag(value[, offset integer[, default value]]) → value
-- The value of the row before, or so many before.
lag(points) OVER (ORDER BY name);
-- lead(value[, offset integer[, default value]]) → value
-- The value of the row behind, or so many behind.
lead(points, 1, 0) OVER (ORDER BY name);
-- first_value(value) → value
-- The value of the first row of the frame.
first_value(points) OVER (ORDER BY name);
-- last_value(value) → value
-- The value of the last row of the frame.
last_value(points) OVER (ORDER BY name);
-- nth_value(value, n integer) → value
-- The value of the nth row of the frame; NULL if it has fewer.
nth_value(points, 2) OVER (ORDER BY name);

-- ## Table functions
-- range(start, stop[, step]) → table
-- A row for each number from start to before stop. With one argument, from 0.
range(1, 10, 3);
-- generate_series(start, stop[, step]) → table
-- The same, with stop; also of dates and times.
generate_series(1, 3);
-- kmeans(table text, column text, …, k => integer, iterations => integer) → table
-- The clusters of points in a table: see [kernels.md](kernels.md).
SELECT cluster, centroid, size FROM kmeans('scores', 'points', 'hours', 2, 20, [[4, 2], [9, 4]]) ORDER BY cluster;
-- matrix_add(table text, table text) → table
-- The sum of two matrices in blocks.
matrix_add('squares', 'squares');
-- matrix_scale(table text, number) → table
-- A matrix in blocks times a number.
matrix_scale('squares', 2);
-- matrix_transpose(table text) → table
-- A matrix in blocks with its rows as columns.
matrix_transpose('squares');
-- matrix_multiply(table text, table text) → table
-- The product of two matrices in blocks.
matrix_multiply('squares', 'squares');
-- matrix_vector(table text, table text) → table
-- The product of a matrix and a vector in blocks.
matrix_vector('squares', 'pairs');
-- matrix_norm(table text) → table
-- Norms of a matrix in blocks.
matrix_norm('squares');
-- region(array text[, slices text]) → table
-- A row for each cell of a region of an array: see [arrays.md](arrays.md).
SELECT y, x, value FROM region('grid', [0, 1:]) ORDER BY x;
-- array_region(array text[, slices text]) → table
-- A region of an array as one tensor, also as an expression.
array_region('grid', [:, ::2]);
-- finest_region(group text[, slices text]) → table
-- A region of arrays of several resolutions, which are the levels of a group: the finest cells there are, and the level of each.
finest_region('mesh', [1, :]);
-- chunks(array text) → table
-- The chunks of an array that were written.
SELECT y, x, least, greatest FROM chunks('grid');
-- read_csv(path text or list[, option = value, …]) → table
-- The rows of CSV files.
SELECT name, hours FROM read_csv('scores.csv', header = true);
-- read_csv_auto(path text or list[, option = value, …]) → table
-- The same.
SELECT name, hours FROM read_csv_auto('scores.csv');
-- read_parquet(path text or list[, option = value, …]) → table
-- The rows of Parquet files.
SELECT name, hours FROM read_parquet('*.parquet');
-- parquet_scan(path text or list[, option = value, …]) → table
-- The same.
SELECT name, hours FROM parquet_scan('scores.parquet');
-- read_json(path text or list[, option = value, …]) → table
-- The rows of JSON files: an object in each line, or one array of objects.
SELECT name, hours FROM read_json('scores.json');
-- read_json_auto(path text or list[, option = value, …]) → table
-- The same.
SELECT name, hours FROM read_json_auto('scores.json');
-- read_ndjson(path text or list[, option = value, …]) → table
-- The same.
SELECT name, hours FROM read_ndjson('scores.json');
-- read_ndjson_auto(path text or list[, option = value, …]) → table
-- The same.
SELECT name, hours FROM read_ndjson_auto('scores.json');
-- read_arrow(path text or list[, option = value, …]) → table
-- The rows of Arrow IPC files.
SELECT name, hours FROM read_arrow('scores.arrow');
