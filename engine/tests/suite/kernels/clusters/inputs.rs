//! What points may be: tables, columns and rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Float64Array, Int64Array, ListArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type};

use super::{assert_near, fixed, kmeans, literal, lloyd, of_vectors, points, vectors};
use crate::helpers::{Db, nullable, options, run, wait};

#[test]
fn vectors_lists_and_columns_of_any_numbers_are_the_same_points() {
    let db = Db::new();
    let points: Vec<f64> = points(10_000, 2, 3).iter().map(|number| (number * 4.0).round()).collect();
    let column = |at: usize| points.iter().skip(at).step_by(2).copied();
    let ragged = points.chunks(2).map(|point| Some(point.iter().map(|number| Some(*number)).collect::<Vec<_>>()));
    let narrow: Vec<f32> = points.iter().map(|number| *number as f32).collect();
    db.load(
        "t",
        &[],
        &nullable([
            ("x", vectors(&points, 2)),
            ("narrow", fixed(Arc::new(Float32Array::from(narrow)), 2, None)),
            ("ragged", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(ragged))),
            ("a", Arc::new(Float64Array::from_iter_values(column(0)))),
            ("b", Arc::new(Int64Array::from_iter_values(column(1).map(|number| number as i64)))),
        ]),
    );
    db.run("CREATE VIEW v AS SELECT a::DECIMAL(9, 2) AS a, b::REAL AS b FROM t");
    let of_vectors = kmeans(&db, "kmeans('t', 'x', 4, 5)");
    assert_eq!(of_vectors.sizes.iter().sum::<i64>(), 10_000);
    for call in ["kmeans('t', 'narrow', 4, 5)", "kmeans('t', 'ragged', 4, 5)", "kmeans('t', 'a', 'b', 4, 5)"] {
        assert_eq!(kmeans(&db, call), of_vectors, "{call}");
    }
    // A view's rows may come in another order.
    let start = literal(&points[..8], 2);
    let of_init = kmeans(&db, &format!("kmeans('t', 'x', init => {start}, iterations => 3)"));
    assert_near(&kmeans(&db, &format!("kmeans('v', 'a', 'b', init => {start}, iterations => 3)")), &of_init);
}

#[test]
fn one_column_of_doubles_is_points_of_one_number() {
    let db = Db::new();
    let numbers: Vec<f64> = points(3_000, 1, 5);
    db.load("t", &[], &nullable([("n", Arc::new(Float64Array::from(numbers.clone())) as ArrayRef)]));
    let found = kmeans(&db, "kmeans('t', 'n', init => [[0.0], [5.0], [10.0]], iterations => 3)");
    assert_near(&found, &lloyd(&numbers, 1, &[0.0, 5.0, 10.0], 3));
}

#[test]
fn rows_with_a_null_are_left_out_and_deleted_and_new_rows_are_not_forgotten() {
    let (db, points) = of_vectors(30_000, 2);
    let nulls = NullBuffer::from((0..100).map(|row| row % 3 == 0).collect::<Vec<_>>());
    let more = self::points(100, 2, 1);
    db.load("t", &[], &nullable([("x", fixed(Arc::new(Float64Array::from(more.clone())), 2, Some(nulls)))]));
    let elements = Float64Array::from(vec![Some(1.0), None, Some(2.0), Some(3.0)]);
    db.load("t", &[], &nullable([("x", fixed(Arc::new(elements), 2, None))]));
    db.run("INSERT INTO t VALUES ([4.0, 5.0]), (NULL)");
    db.run("DELETE FROM t WHERE x[1] < 1.0");
    let mut expected = points;
    expected.extend(more.chunks(2).step_by(3).flatten());
    expected.extend([2.0, 3.0, 4.0, 5.0]);
    let expected: Vec<f64> = expected.chunks(2).filter(|point| point[0] >= 1.0).flatten().copied().collect();
    let start = [0.0, 0.0, 10.0, 10.0];
    for precopy in ["off", "on"] {
        db.run(&format!("SET precopy = '{precopy}'"));
        let found = kmeans(&db, &format!("kmeans('t', 'x', init => {}, iterations => 3)", literal(&start, 2)));
        assert_near(&found, &lloyd(&expected, 2, &start, 3));
    }
}

#[test]
fn a_transaction_sees_its_own_rows_and_others_do_not() {
    let (db, _) = of_vectors(100, 2);
    let other = db.engine.session().unwrap();
    let size = "SELECT sum(size) FROM kmeans('t', 'x', 2, 1)";
    db.script("BEGIN; INSERT INTO t VALUES ([1.0, 2.0])");
    assert_eq!((db.value(size), wait(run(&other, size)).unwrap().rows()), ("101".to_owned(), vec!["100".to_owned()]));
    db.run("ROLLBACK");
    assert_eq!(db.value(size), "100");
}

#[test]
fn tables_are_named_as_in_from() {
    let (db, _) = of_vectors(100, 2);
    db.script("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT * FROM t; CREATE TABLE \"T 2\" AS SELECT * FROM t; CREATE VIEW v AS SELECT x AS \"X\" FROM s.t");
    let expected = kmeans(&db, "kmeans('t', 'x', 2, 3)");
    for (table, column) in [("T", "X"), ("main.t", "x"), ("s.t", "x"), ("quiver.s.T", "x"), ("\"T 2\"", "x"), ("v", "X")] {
        assert_eq!(kmeans(&db, &format!("kmeans('{table}', '{column}', 2, 3)")), expected, "{table}");
    }
    for missing in ["nothing", "s.nothing", "nowhere.t"] {
        assert_eq!(
            db.error(&format!("SELECT * FROM kmeans('{missing}', 'x', 2, 3)")).to_string(),
            db.error(&format!("SELECT * FROM {missing}")).to_string(),
        );
    }
}

#[test]
fn narrow_elements_of_lists_are_numbers_too() {
    let db = Db::with(options());
    let rows = (0..50).map(|row| Some(vec![Some(row as f32), Some(1.0)]));
    db.load("t", &[], &nullable([("x", Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows)) as ArrayRef)]));
    let found = kmeans(&db, "kmeans('t', 'x', init => [[0, 1], [49, 1]], iterations => 1)");
    assert_eq!((found.centroids, found.sizes), (vec![12.0, 1.0, 37.0, 1.0], vec![25, 25]));
    assert_eq!(
        *db.run("SELECT centroid FROM kmeans('t', 'x', 1, 1)").batches[0].column(0).data_type(),
        DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
    );
}
