//! Filters at the scan keep exactly the rows that plain DataFusion keeps, for every type, over zones
//! of every kind: narrow, wide, constant, all NULL, with NaN, infinities, both zeros, extremes. Of times that are finer than their column
//! and of decimals that a cast makes shorter, plain DataFusion keeps other rows: `exact_comparisons.rs` has those.

use std::iter::once;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray, Int64Array, PrimitiveArray, StringViewArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType, UInt64Type, i256,
};
use pmem_store::ZONE_ROWS;

use super::helpers::{Random, nullable};
use super::oracle::{Twins, predicates};

/// Nine zones in two segments, neither of which ends with a zone.
const ROWS: usize = 7 * ZONE_ROWS + 1_234;
const FIRST_SEGMENT_ROWS: usize = 4 * ZONE_ROWS + 777;

struct Column {
    name: &'static str,
    array: ArrayRef,
    /// What it is compared with, as SQL.
    literals: Vec<String>,
}

/// One value per row, out of the pool of its zone.
fn spread<T: Clone>(pools: &[Vec<Option<T>>]) -> Vec<Option<T>> {
    let mut random = Random(pools.len() as u64);
    (0..ROWS).map(|row| random.of(&pools[(row / ZONE_ROWS) % pools.len()]).clone()).collect()
}

fn some<T: Clone>(values: &[T]) -> Vec<Option<T>> {
    values.iter().cloned().map(Some).collect()
}

/// Some and NULL.
fn half<T: Clone>(values: &[T]) -> Vec<Option<T>> {
    some(values).into_iter().chain(once(None)).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    name: &'static str,
    data_type: DataType,
    pools: &[Vec<Option<T::Native>>],
    literals: &[&str],
) -> Column {
    let array = PrimitiveArray::<T>::from_iter(spread(pools)).with_data_type(data_type);
    Column { name, array: Arc::new(array), literals: literals.iter().map(|literal| (*literal).to_owned()).collect() }
}

fn twins(columns: &[Column]) -> Twins {
    let id = Arc::new(Int64Array::from_iter_values(0..ROWS as i64)) as ArrayRef;
    let others = columns.iter().map(|column| (column.name, Arc::clone(&column.array)));
    Twins::new(&nullable(once(("id", id)).chain(others)), &[FIRST_SEGMENT_ROWS])
}

fn check(columns: &[Column], further: &[&str]) {
    let twins = twins(columns);
    let mut random = Random(42);
    let mut all = Vec::new();
    for column in columns {
        for _ in 0..2 {
            for predicate in predicates(column.name, &mut random, &column.literals) {
                twins.agree(column.name, &predicate);
                all.push(predicate);
            }
        }
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    for predicate in further {
        twins.agree(&names.join(", "), predicate);
    }
    // Together: conjuncts are reordered and evaluated on fewer and fewer rows.
    for _ in 0..60 {
        let (a, b, c) = (random.of(&all), random.of(&all), random.of(&all));
        let joined = match random.below(4) {
            0 => format!("({a}) AND ({b})"),
            1 => format!("({a}) OR ({b})"),
            2 => format!("({a}) AND ({b}) AND ({c})"),
            _ => format!("({a}) AND NOT (({b}) OR ({c})) AND id % 3 = 1"),
        };
        twins.agree(&names.join(", "), &joined);
    }
}

#[test]
fn filters_on_integers_keep_what_plain_datafusion_keeps() {
    let (min, max) = (i64::MIN, i64::MAX);
    let wide =
        [some(&(10..20).collect::<Vec<i64>>()), vec![None], some(&[min, max, -1, 0, 1]), some(&[42]), half(&[7, 1_000]), half(&[5, 6, -5])];
    let literals = [
        "10",
        "15",
        "42",
        "0",
        "-5",
        "1000",
        "9223372036854775807",
        "-9223372036854775808",
        "99999999999999999999",
        "7.5",
        "'15'",
        "12::smallint",
        "0.0::double",
    ];
    let small = [some(&[1i8, 2, 3]), half(&[-128, 127]), vec![None], some(&[0])];
    let medium = [some(&[1i16, 2, 300]), half(&[i16::MIN, i16::MAX]), some(&[-1])];
    let large = [half(&(100..110).collect::<Vec<i32>>()), some(&[i32::MIN, i32::MAX]), some(&[0])];
    let unsigned = [some(&[0u64, 1, 2]), some(&[u64::MAX, u64::MAX - 1]), half(&[1 << 63]), vec![None]];
    let columns = [
        primitive::<Int64Type>("i64", DataType::Int64, &wide, &literals),
        primitive::<Int8Type>("i8", DataType::Int8, &small, &["1", "127", "-128", "128", "300", "2.5", "'3'"]),
        primitive::<Int16Type>("i16", DataType::Int16, &medium, &["1", "300", "32767", "40000", "-32769", "-1"]),
        primitive::<Int32Type>("i32", DataType::Int32, &large, &["104", "0", "2147483647", "2147483648", "-2147483648", "105.5"]),
        primitive::<UInt64Type>("u64", DataType::UInt64, &unsigned, &["0", "1", "18446744073709551615", "9223372036854775808", "-1"]),
    ];
    let mostly_null = [vec![None], vec![None], half(&[3i64]), vec![None; 99].into_iter().chain(some(&[8, 9])).collect()];
    let columns: Vec<Column> =
        columns.into_iter().chain([primitive::<Int64Type>("rare", DataType::Int64, &mostly_null, &["3", "8", "9", "5"])]).collect();
    check(
        &columns,
        &[
            "i32 + 1 > 105",
            "abs(i32) = 0",
            "i8 * 2 = 6",
            "i16 % 2 = 0 AND i16 > 1",
            "i64 = i32",
            "i8 < i16",
            "rare IS NULL AND i64 IS NULL",
            "rare IS NOT NULL AND i64 = 42",
            "cast(i8 AS bigint) = 3",
            "cast(i32 AS varchar) = '104'",
            "cast(i32 AS smallint) = 0",
            "i64 & 1 = 1",
            "true",
            "false",
            "NULL",
            "1 = 1 AND i8 = 2",
            "i8 IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
        ],
    );
}

#[test]
fn filters_on_floats_keep_what_plain_datafusion_keeps() {
    // Without a sign: plain DataFusion has NaNs with one be less than every number.
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let doubles = [
        some(&[1.0, 1.5, 2.0]),
        some(&[nan]),
        half(&[nan, 1.0]),
        some(&[-0.0]),
        some(&[0.0]),
        some(&[-0.0, 0.0, 1e-300]),
        half(&[inf, -inf]),
        vec![None],
        some(&[nan, -1.0, f64::MAX, f64::MIN]),
    ];
    let floats = [some(&[0.1f32, 0.2]), half(&[f32::NAN]), some(&[-0.0, 0.0]), some(&[f32::INFINITY, 3.0]), some(&[f32::MIN, f32::NAN])];
    let literals = [
        "'NaN'::double",
        "'-inf'::double",
        "'inf'::double",
        "0.0::double",
        "-(0.0::double)",
        "0",
        "1.5",
        "1",
        "1e300",
        "-1.7976931348623157e308::double",
        "0.1",
        "'2'",
    ];
    let columns = [
        primitive::<Float64Type>("f64", DataType::Float64, &doubles, &literals),
        primitive::<Float32Type>(
            "f32",
            DataType::Float32,
            &floats,
            &["0.1", "0.1::real", "0.1::double", "'NaN'::real", "'inf'::real", "-(0.0::real)", "0", "3", "1e39::double"],
        ),
    ];
    check(
        &columns,
        &[
            "isnan(f64)",
            "NOT isnan(f64)",
            "f64 > 1e308::double",
            "f64 + 1 > 2",
            "f64 = f32",
            "NOT isnan(f64) AND -f64 > 0",
            "abs(f64) = 0",
            "f64 * 0 = 0",
            "f32 > 0.1 AND f32 < 0.2",
            "cast(f64 AS real) = 1.5",
            "iszero(f64)",
            "f64 >= 'inf'::double",
            "f64 <= '-inf'::double",
            "round(f64) = 2",
        ],
    );
}

#[test]
fn filters_on_decimals_of_every_width_keep_what_plain_datafusion_keeps() {
    let money = [
        half(&(0..2_000i128).map(|cents| cents * 7 - 5_000).collect::<Vec<_>>()),
        some(&[999_999_999, -999_999_999]),
        vec![None],
        some(&[100, 150]),
    ];
    let edge = [some(&[10i128.pow(18) - 1, 1 - 10i128.pow(18)]), half(&[0, 1, -1]), some(&[1_500_000])];
    let past_edge = [some(&[10i128.pow(18), 10i128.pow(19) - 1]), half(&[0, 10_000]), some(&[-12_345])];
    let huge = [some(&[10i128.pow(38) - 1, 1 - 10i128.pow(38)]), half(&[0, 1]), some(&[5 * 10i128.pow(10)])];
    let wider: Vec<i256> =
        ["99999999999999999999999999999999999999999999999999", "-1", "0"].iter().map(|text| i256::from_string(text).unwrap()).collect();
    let wider = [half(&wider), some(&[i256::from_i128(500_000)])];
    let columns = [
        primitive::<Decimal128Type>(
            "money",
            DataType::Decimal128(9, 2),
            &money,
            &[
                "1",
                "1.00",
                "1.5",
                "1.505",
                "-50.00",
                "9999999.99",
                "10000000",
                "99999999999999.5",
                "1.5::double",
                "'1.50'",
                "1.5::decimal(30,10)",
            ],
        ),
        primitive::<Decimal128Type>(
            "edge",
            DataType::Decimal128(18, 6),
            &edge,
            &["1.5", "999999999999.999999", "1000000000000", "-999999999999.999999", "0", "0.000001", "0.0000001", "1.5::decimal(38,20)"],
        ),
        primitive::<Decimal128Type>(
            "past",
            DataType::Decimal128(19, 4),
            &past_edge,
            &["1", "100000000000000", "999999999999999.9999", "-1.2345", "0", "1::double"],
        ),
        primitive::<Decimal128Type>(
            "huge",
            DataType::Decimal128(38, 10),
            &huge,
            &["5", "0", "0.0000000001", "9999999999999999999999999999.9999999999", "-1"],
        ),
        primitive::<Decimal256Type>(
            "wider",
            DataType::Decimal256(50, 5),
            &wider,
            &["5", "0", "-0.00001", "999999999999999999999999999999999999999999999"],
        ),
    ];
    check(
        &columns,
        &[
            "money = 1.50",
            "money > edge",
            "money + 1 = 2.50",
            "money * 2 = 3",
            "round(money) = 2",
            "cast(money AS double) < 0.5",
            "money = past",
            "edge BETWEEN money AND 2",
            "cast(money AS varchar) = '1.50'",
            "money / 2 = 0.75",
            "-money > 0",
            "money % 1 = 0.5",
            "edge = huge",
        ],
    );
}

#[test]
fn filters_on_dates_and_times_keep_what_plain_datafusion_keeps() {
    let day = 19_723; // 2024-01-01
    let days = [some(&(day..day + 30).collect::<Vec<i32>>()), vec![None], half(&[0, -1]), some(&[i32::MAX / 400, -700_000]), some(&[day])];
    let us = i64::from(day) * 86_400_000_000;
    let stamps = [some(&(0..50).map(|hour| us + hour * 3_600_000_000).collect::<Vec<i64>>()), half(&[us]), some(&[0, -1]), vec![None]];
    let ns: Vec<Vec<Option<i64>>> = stamps.iter().map(|pool| pool.iter().map(|stamp| stamp.map(|us| us * 1_000 + 1)).collect()).collect();
    let times = [some(&[0i64, 1, 86_399_999_999]), half(&[43_200_000_000]), vec![None]];
    let utc = DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, Some("UTC".into()));
    let columns = [
        primitive::<Date32Type>(
            "day",
            DataType::Date32,
            &days,
            &[
                "date '2024-01-01'",
                "date '2024-01-15'",
                "date '1970-01-01'",
                "date '1969-12-31'",
                "timestamp '2024-01-10 12:00:00'",
                "'2024-01-05'",
                "date '0053-06-13'",
            ],
        ),
        primitive::<TimestampMicrosecondType>(
            "at",
            DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None),
            &stamps,
            &[
                "timestamp '2024-01-01 00:00:00'",
                "timestamp '2024-01-02 03:00:00.000001'",
                "date '2024-01-02'",
                "'2024-01-01 05:00:00'",
                "timestamp '1970-01-01'",
            ],
        ),
        primitive::<TimestampNanosecondType>(
            "zoned",
            utc,
            &ns,
            &["timestamp '2024-01-01 00:00:00'", "'2024-01-01T05:00:00.000000001Z'", "'2024-01-01T07:00:00+02:00'", "date '2024-01-02'"],
        ),
        primitive::<Time64MicrosecondType>(
            "time",
            DataType::Time64(arrow::datatypes::TimeUnit::Microsecond),
            &times,
            &["time '12:00:00'", "time '00:00:00'", "time '23:59:59.999999'", "'00:00:00.000001'"],
        ),
    ];
    check(
        &columns,
        &[
            "extract(year FROM day) = 2024",
            "date_trunc('month', day) = date '2024-01-01'",
            "day + interval '1 day' > date '2024-01-20'",
            "at - interval '1 hour' < timestamp '2024-01-01'",
            "day = at",
            "cast(at AS date) = day",
            "cast(at AS date) = date '2024-01-01'",
            "date_part('dow', day) = 1",
            "zoned > at",
            "day > date '2024-01-05' AND day <= date '2024-01-07' AND at IS NOT NULL",
            "cast(day AS varchar) LIKE '2024-01-0%'",
        ],
    );
}

#[test]
fn filters_on_strings_keep_what_plain_datafusion_keeps() {
    // Longer than a bound, so that zones differ only after what the statistics know.
    let shared = "the same hundred bytes ".repeat(5);
    let long = |ends: &[&str]| some(&ends.iter().map(|end| format!("{shared}{end}")).collect::<Vec<_>>());
    let texts = |values: &[&str]| some(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
    let pools = [
        long(&["a", "b", "c"]),
        long(&["x", "y", ""]),
        texts(&["", " ", "a", "B", "ab", "twelve bytes", "thirteen byte"]),
        vec![None],
        texts(&["é", "ß", "日本語", "\u{10ffff}", &"\u{10ffff}".repeat(30), "z'quote", "100%", "under_score"]),
        half(&["constant".to_owned()]),
        texts(&[&"\u{7f}".repeat(70), &"é".repeat(40)]),
    ];
    let mut literals: Vec<String> = ["a", "", "ab", "constant", "é", "日本語", "\u{10ffff}", "thirteen byte", "z''quote", "zzz"]
        .iter()
        .map(|text| format!("'{text}'"))
        .collect();
    literals.extend(["b", "", "y", "zz"].iter().map(|end| format!("'{shared}{end}'")));
    literals.extend([
        format!("'{}'", &shared[..64]),
        format!("'{}'", &shared[..70]),
        format!("'{}'", "\u{10ffff}".repeat(30)),
        format!("'{}'", "é".repeat(40)),
        "5".into(),
    ]);
    let columns = [Column { name: "s", array: Arc::new(StringViewArray::from_iter(spread(&pools))), literals }];
    let shared_like = format!("s LIKE '{shared}%'");
    let shared_not_like = format!("s NOT LIKE '{}%'", &shared[..66]);
    let shared_exact = format!("s LIKE '{shared}y'");
    check(
        &columns,
        &[
            &shared_like,
            &shared_not_like,
            &shared_exact,
            "s LIKE 'a%'",
            "s NOT LIKE 'a%'",
            "s LIKE '%c'",
            "s LIKE '_'",
            "s ILIKE 'A%'",
            "s LIKE '100\\%'",
            "s LIKE 'under\\_%'",
            "s LIKE ''",
            "s LIKE '%'",
            "s NOT LIKE '%'",
            "s LIKE '\u{10ffff}%'",
            "s NOT LIKE 'constant'",
            "starts_with(s, 'the same')",
            "length(s) > 20",
            "upper(s) = 'CONSTANT'",
            "s || 'x' = 'ax'",
            "substr(s, 1, 1) = 'é'",
            "s ~ '^[ab]'",
            "lower(s) < s",
            "s > 'a' COLLATE \"C\"",
            "trim(s) = ''",
            "s IN ('a', 'constant') AND s LIKE 'c%'",
            "cast(s AS bigint) = 1",
            "try_cast(s AS bigint) IS NULL",
        ],
    );
}

#[test]
fn filters_on_booleans_and_bytes_keep_what_plain_datafusion_keeps() {
    let flags = [some(&[true]), some(&[false]), half(&[true, false]), vec![None], some(&[true, false])];
    let bytes = [some(&[vec![0u8], vec![0, 255], vec![]]), half(&[vec![255; 70], vec![255; 80]]), vec![None], some(&[b"abc".to_vec()])];
    let bytes = spread(&bytes);
    let columns = [
        Column {
            name: "b",
            array: Arc::new(BooleanArray::from(spread(&flags))),
            literals: vec!["true".into(), "false".into(), "'t'".into()],
        },
        Column {
            name: "x",
            array: Arc::new(BinaryViewArray::from_iter(bytes.iter().map(Option::as_deref))),
            literals: vec![
                "X'00'".into(),
                "X'00FF'".into(),
                "X''".into(),
                "X'616263'".into(),
                format!("X'{}'", "FF".repeat(75)),
                "'abc'".into(),
            ],
        },
    ];
    check(
        &columns,
        &[
            "b",
            "NOT b",
            "b IS TRUE",
            "b IS NOT TRUE",
            "b IS FALSE",
            "b IS NOT FALSE",
            "b IS UNKNOWN",
            "b IS NOT UNKNOWN",
            "b AND id < 100",
            "b OR id < 100",
            "b = (id % 2 = 0)",
            "NOT b AND NOT (b IS NULL)",
            "b > false",
            "octet_length(x) > 2",
            "encode(x, 'hex') = '00ff'",
        ],
    );
}

#[test]
fn filters_over_columns_that_are_not_put_out_keep_what_plain_datafusion_keeps() {
    let pools = [half(&(0..100i64).collect::<Vec<_>>()), some(&[1_000]), some(&(50..60).collect::<Vec<_>>())];
    let columns =
        [primitive::<Int64Type>("a", DataType::Int64, &pools, &[]), primitive::<Int64Type>("b", DataType::Int64, &pools[1..], &[])];
    let twins = twins(&columns);
    for sql in [
        "SELECT count(*) FROM t WHERE a > 55",
        "SELECT sum(id) FROM t WHERE a BETWEEN 50 AND 70 AND b < 1000",
        "SELECT b, count(*) FROM t WHERE a = 55 GROUP BY b",
        "SELECT x.id FROM t x JOIN t y ON x.id = y.id AND y.a = 1000 WHERE x.b < 1000 AND x.a > 40",
        "SELECT count(*) FROM t x WHERE EXISTS (SELECT 1 FROM t y WHERE y.id = x.id + 1 AND y.a = 55)",
        "SELECT count(*) FROM t WHERE id IN (SELECT id FROM t WHERE a = 55)",
        "SELECT count(*) FROM t WHERE id NOT IN (SELECT id FROM t WHERE a >= 55)",
        "SELECT count(*) FROM t WHERE id NOT IN (SELECT a FROM t WHERE a < 3 OR a IS NULL)",
        "SELECT count(*) FROM t WHERE id > (SELECT max(a) FROM t)",
        "SELECT count(*) FROM (SELECT a FROM t WHERE a > 50 UNION ALL SELECT b FROM t WHERE b < 55)",
        "SELECT x.a, count(y.id) FROM t x LEFT JOIN t y ON x.id = y.id + 60000 AND y.b = 55 WHERE x.id < 200 GROUP BY x.a",
        "SELECT count(*) FROM t x FULL JOIN t y ON x.id = y.id - 60000 AND x.a = 1000 WHERE y.id IS NULL OR x.id IS NULL",
    ] {
        twins.same_answer(sql);
    }
}

#[test]
fn a_filter_after_a_limit_is_not_taken_into_the_scan() {
    let db = super::helpers::Db::new();
    db.load("t", &["id"], &super::helpers::numbers(0, 30_000));
    let rows = db.rows("SELECT id FROM (SELECT id, k FROM t ORDER BY id LIMIT 20) WHERE k = 3");
    assert_eq!(rows, ["3", "13"]);
    let rows = db.rows("SELECT count(*) FROM (SELECT id, k FROM t LIMIT 20) WHERE k < 100");
    assert_eq!(rows, ["20"]);
    let rows = db.rows("SELECT id FROM (SELECT id, k FROM t ORDER BY id OFFSET 29990) WHERE k = 3");
    assert_eq!(rows, ["29993"]);
}

#[test]
fn a_volatile_filter_is_evaluated_for_every_row() {
    let db = super::helpers::Db::new();
    db.load("t", &[], &super::helpers::numbers(0, 30_000));
    let count: u64 = db.value("SELECT count(*) FROM t WHERE random() < 0.5").parse().unwrap();
    assert!((13_000..17_000).contains(&count), "{count}");
}
