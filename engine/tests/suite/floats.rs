//! Infinities and the one NaN; `sqllogictests/slt/floats.slt` has what SQL alone shows.

use super::helpers::Db;

#[test]
fn a_nan_with_a_sign_is_stored_as_the_one_that_is_greater_than_all() {
    let db = Db::new();
    let values = arrow::array::Float64Array::from(vec![-f64::NAN, 1.0]);
    let rows = arrow::array::RecordBatch::try_from_iter([("d", std::sync::Arc::new(values) as arrow::array::ArrayRef)]).unwrap();
    db.load("t", &[], &rows);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE d > 5"), "1");
}

#[test]
fn percentiles_of_floats_know_infinities_and_nan() {
    let db = Db::new();
    db.run("CREATE TABLE x (g int, f double)");
    db.run("INSERT INTO x VALUES (1, '-inf'), (2, 'NaN'), (2, '1'), (3, '-inf'), (3, 'inf'), (4, '1'), (4, '2')");
    let by_group = |percentile: &str| {
        db.rows(&format!("SELECT g, percentile_cont({percentile}) WITHIN GROUP (ORDER BY f) FROM x GROUP BY g ORDER BY g"))
    };
    assert_eq!(by_group("1.0"), ["1|-inf", "2|NaN", "3|inf", "4|2.0"]);
    assert_eq!(by_group("0.0"), ["1|-inf", "2|1.0", "3|-inf", "4|1.0"]);
    assert_eq!(by_group("0.5")[3], "4|1.5");
    assert_eq!(db.value("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) > 0 FROM x WHERE g = 3"), "true");
}
