//! Matrices in tables of blocks: what kernels answer beside plain loops on whole numbers, which doubles hold exactly.

mod in_place;
mod padding;
mod refused;
mod sql_form;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;

use crate::cancel::{filled, stops};
use crate::helpers::{Db, Random, small_memory};

/// A matrix of whole numbers, row by row.
#[derive(Debug, Clone, PartialEq)]
struct Dense {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

/// How a matrix is stored.
#[derive(Debug, Clone, Copy)]
struct Stored {
    block: [usize; 2],
    element: fn() -> DataType,
    says_shape: bool,
}

const DOUBLE: fn() -> DataType = || DataType::Float64;
const REAL: fn() -> DataType = || DataType::Float32;

fn in_blocks(block: [usize; 2]) -> Stored {
    Stored { block, element: DOUBLE, says_shape: true }
}

impl Dense {
    fn random(rows: usize, columns: usize, seed: u64) -> Dense {
        let mut random = Random(seed);
        Dense::of(rows, columns, |_, _| random.below(19) as f64 - 9.0)
    }

    fn of(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> f64) -> Dense {
        let values = (0..rows * columns).map(|at| value(at / columns, at % columns)).collect();
        Dense { rows, columns, values }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    fn times(&self, other: &Dense) -> Dense {
        let sum = |row, column| (0..self.columns).map(|inner| self.at(row, inner) * other.at(inner, column)).sum();
        Dense::of(self.rows, other.columns, sum)
    }

    /// Rows i, j, block; those of `leave_out` are not there.
    fn blocks(&self, stored: Stored, leave_out: &[(usize, usize)]) -> RecordBatch {
        let [rows, columns] = stored.block;
        let places = (0..self.rows.div_ceil(rows)).flat_map(|i| (0..self.columns.div_ceil(columns)).map(move |j| (i, j)));
        let places: Vec<(usize, usize)> = places.filter(|place| !leave_out.contains(place)).collect();
        let mut values = Vec::new();
        for (i, j) in &places {
            for (row, column) in
                (i * rows..(i + 1) * rows).flat_map(|row| (j * columns..(j + 1) * columns).map(move |column| (row, column)))
            {
                values.push(if row < self.rows && column < self.columns { self.at(row, column) } else { 0.0 });
            }
        }
        let key = |of: fn(&(usize, usize)) -> usize| -> ArrayRef {
            Arc::new(places.iter().map(|place| of(place) as i64).collect::<Int64Array>())
        };
        let shape = stored.says_shape.then_some([self.rows, self.columns]);
        rows_of_blocks(key(|place| place.0), key(|place| place.1), values, stored, shape)
    }
}

fn rows_of_blocks(i: ArrayRef, j: ArrayRef, values: Vec<f64>, stored: Stored, shape: Option<[usize; 2]>) -> RecordBatch {
    let [rows, columns] = stored.block;
    let elements = arrow::compute::cast(&Float64Array::from(values), &(stored.element)()).unwrap();
    let item = Arc::new(Field::new_list_field((stored.element)(), true));
    let blocks = FixedSizeListArray::new(item, (rows * columns) as i32, elements, None);
    let schema = Schema::new(vec![
        Field::new("i", DataType::Int64, true),
        Field::new("j", DataType::Int64, true),
        block_field(&blocks, stored.block, shape),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![i, j, Arc::new(blocks)]).unwrap()
}

fn block_field(blocks: &FixedSizeListArray, [rows, columns]: [usize; 2], shape: Option<[usize; 2]>) -> Field {
    let mut metadata = HashMap::from([
        ("ARROW:extension:name".to_string(), "arrow.fixed_shape_tensor".to_string()),
        ("ARROW:extension:metadata".to_string(), format!("{{\"shape\":[{rows},{columns}]}}")),
    ]);
    if let Some([rows, columns]) = shape {
        metadata.insert("quiver.matrix_shape".to_string(), format!("[{rows}, {columns}]"));
    }
    Field::new("block", blocks.data_type().clone(), true).with_metadata(metadata)
}

fn load(db: &Db, name: &str, matrix: &Dense, stored: Stored) {
    db.load(name, &[], &matrix.blocks(stored, &[]));
}

/// The blocks of a result put together; missing ones are zeros.
fn read(db: &Db, sql: &str, rows: usize, columns: usize) -> Dense {
    let mut found = Dense::of(rows, columns, |_, _| 0.0);
    let ran = db.run(sql);
    let mut places = Vec::new();
    for batch in &ran.batches {
        let schema = batch.schema();
        let metadata = schema.field_with_name("block").unwrap().metadata()["ARROW:extension:metadata"].clone();
        let shape: Vec<usize> = metadata.split(['[', ']']).nth(1).unwrap().split(',').map(|size| size.trim().parse().unwrap()).collect();
        let key = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        let (i, j) = (key("i"), key("j"));
        for row in 0..batch.num_rows() {
            let block = batch.column_by_name("block").unwrap().as_fixed_size_list().value(row);
            let block = arrow::compute::cast(&block, &DataType::Float64).unwrap();
            let (i, j) = (i.value(row) as usize, j.value(row) as usize);
            places.push((i, j));
            for (at, value) in block.as_primitive::<Float64Type>().values().iter().enumerate() {
                let (row, column) = (i * shape[0] + at / shape[1], j * shape[1] + at % shape[1]);
                match row < rows && column < columns {
                    true => found.values[row * columns + column] = *value,
                    false => assert_eq!(*value, 0.0, "padding at ({row}, {column})"),
                }
            }
        }
    }
    assert!(places.is_sorted_by(|one, next| one < next), "each block once, in order: {places:?}");
    found
}

#[test]
fn products_of_tables_are_those_of_plain_loops() {
    let db = Db::new();
    // Rows, inner, columns; rows, inner and columns of the blocks.
    let cases = [
        ([12, 8, 10], [4, 4, 5]),
        ([1, 1, 1], [1, 1, 1]),
        ([7, 9, 5], [3, 2, 4]),
        ([40, 33, 21], [64, 64, 64]),
        ([130, 70, 150], [32, 16, 64]),
        ([9, 200, 3], [1, 1, 1]),
    ];
    for (case, ([m, k, n], [r, s, t])) in cases.into_iter().enumerate() {
        let (a, b) = (Dense::random(m, k, 1), Dense::random(k, n, 2));
        for element in [DOUBLE, REAL] {
            let (left, right) = (format!("a{case}{}", element()), format!("b{case}{}", element()));
            load(&db, &left, &a, Stored { element, ..in_blocks([r, s]) });
            load(&db, &right, &b, Stored { element, ..in_blocks([s, t]) });
            let sql = format!("SELECT * FROM matrix_multiply('\"{left}\"', '\"{right}\"')");
            assert_eq!(read(&db, &sql, m, n), a.times(&b), "{case} {}", element());
        }
    }
}

#[test]
fn sums_multiples_and_transposes_are_those_of_plain_loops() {
    let db = Db::new();
    let (a, b) = (Dense::random(50, 37, 3), Dense::random(50, 37, 4));
    for (name, element) in [("double", DOUBLE), ("real", REAL)] {
        load(&db, &format!("a_{name}"), &a, Stored { element, ..in_blocks([8, 16]) });
        load(&db, &format!("b_{name}"), &b, Stored { element, ..in_blocks([8, 16]) });
        let sum = read(&db, &format!("SELECT * FROM matrix_add('a_{name}', 'b_{name}')"), 50, 37);
        assert_eq!(sum, Dense::of(50, 37, |row, column| a.at(row, column) + b.at(row, column)));
        let half = read(&db, &format!("SELECT * FROM matrix_scale('a_{name}', -0.5)"), 50, 37);
        assert_eq!(half, Dense::of(50, 37, |row, column| a.at(row, column) * -0.5));
        let transposed = read(&db, &format!("SELECT * FROM matrix_transpose('a_{name}')"), 37, 50);
        assert_eq!(transposed, Dense::of(37, 50, |row, column| a.at(column, row)));
    }
}

#[test]
fn a_block_larger_than_a_batch_is_made_in_panels() {
    let db = Db::new();
    let a = Dense::of(1500, 1500, |row, column| ((row * 31 + column * 17) % 101) as f64);
    load(&db, "a", &a, in_blocks([1500, 1500]));
    assert_eq!(read(&db, "SELECT * FROM matrix_add('a', 'a')", 1500, 1500), Dense::of(1500, 1500, |row, column| 2.0 * a.at(row, column)));
    assert_eq!(read(&db, "SELECT * FROM matrix_transpose('a')", 1500, 1500), Dense::of(1500, 1500, |row, column| a.at(column, row)));
    // By the sums of its rows, which plain loops have soon.
    let ones = Dense::of(1500, 3, |_, column| column as f64);
    load(&db, "ones", &ones, in_blocks([1500, 3]));
    let sums: Vec<f64> = a.values.chunks(1500).map(|row| row.iter().sum()).collect();
    assert_eq!(
        read(&db, "SELECT * FROM matrix_multiply('a', 'ones')", 1500, 3),
        Dense::of(1500, 3, |row, column| sums[row] * column as f64)
    );
}

#[test]
fn missing_blocks_are_zeros() {
    let db = Db::new();
    let (mut a, mut b) = (Dense::random(12, 12, 5), Dense::random(12, 12, 6));
    let without = |matrix: &mut Dense, places: &[(usize, usize)]| {
        for (i, j) in places {
            (0..16).for_each(|at| matrix.values[(i * 4 + at / 4) * 12 + j * 4 + at % 4] = 0.0);
        }
    };
    let (of_a, of_b) = ([(0, 0), (0, 1), (0, 2), (1, 1)], [(1, 1), (2, 0)]);
    without(&mut a, &of_a);
    without(&mut b, &of_b);
    db.load("a", &[], &a.blocks(in_blocks([4, 4]), &of_a));
    db.load("b", &[], &b.blocks(in_blocks([4, 4]), &of_b));
    assert_eq!(read(&db, "SELECT * FROM matrix_multiply('a', 'b')", 12, 12), a.times(&b));
    // A row of blocks that is not there gives none.
    assert_eq!(db.rows("SELECT min(i), count(*) FROM matrix_multiply('a', 'b')"), ["1|6"]);
    let sum = Dense::of(12, 12, |row, column| a.at(row, column) + b.at(row, column));
    assert_eq!(read(&db, "SELECT * FROM matrix_add('a', 'b')", 12, 12), sum);
    // Of a sum only the place where both have none.
    assert_eq!(db.rows("SELECT i, j FROM matrix_add('a', 'b') WHERE i = 1"), ["1|0", "1|2"]);
    db.run("CREATE TABLE none (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 4, 4))");
    for kernel in ["matrix_add('none', 'none')", "matrix_multiply('none', 'none')", "matrix_transpose('none')", "matrix_scale('none', 2)"] {
        assert!(db.rows(&format!("SELECT i, j FROM {kernel}")).is_empty(), "{kernel}");
    }
    assert_eq!(db.rows("SELECT * FROM matrix_norm('none')"), ["0.0|0.0|0.0|0.0"]);
}

#[test]
fn a_matrix_times_a_vector_is_that_of_plain_loops() {
    let db = Db::new();
    let (a, x) = (Dense::random(50, 37, 7), Dense::random(37, 1, 8));
    load(&db, "a", &a, in_blocks([8, 16]));
    db.run("CREATE TABLE x (i BIGINT, block DOUBLE[16])");
    for (i, block) in x.values.chunks(16).enumerate() {
        let padded = block.iter().copied().chain(std::iter::repeat_n(0.0, 16 - block.len()));
        let list = padded.map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", ");
        db.run(&format!("INSERT INTO x VALUES ({i}, [{list}])"));
    }
    let ran = db.run("SELECT * FROM matrix_vector('a', 'x')");
    let mut found = Vec::new();
    for batch in &ran.batches {
        let blocks = batch.column(1).as_fixed_size_list();
        assert_eq!(blocks.value_length(), 8);
        found.extend_from_slice(blocks.values().as_primitive::<Float64Type>().values());
    }
    assert_eq!(found[..50], a.times(&x).values);
    assert_eq!(found[50..], [0.0; 6]);
    assert_eq!(db.rows("SELECT count(*), min(i), max(i) FROM matrix_vector('a', 'x')"), ["7|0|6"]);
}

#[test]
fn norms_are_those_of_plain_loops() {
    let db = Db::new();
    let a = Dense::random(90, 61, 9);
    load(&db, "a", &a, in_blocks([32, 16]));
    let row = |row: usize| (0..61).map(|column| a.at(row, column).abs()).sum::<f64>();
    let column = |column: usize| (0..90).map(|row| a.at(row, column).abs()).sum::<f64>();
    let one = (0..61).map(column).fold(0.0, f64::max);
    let infinity = (0..90).map(row).fold(0.0, f64::max);
    assert_eq!(db.rows("SELECT one_norm, infinity_norm, max_norm FROM matrix_norm('a')"), [format!("{one:?}|{infinity:?}|9.0")]);
    let frobenius = a.values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let found: f64 = db.value("SELECT frobenius FROM matrix_norm('a')").parse().unwrap();
    assert!((found - frobenius).abs() <= 1e-14 * frobenius, "{found} and {frobenius}");
}

#[test]
fn a_result_is_stored_and_is_a_matrix_again() {
    let db = Db::new();
    let (a, b) = (Dense::random(20, 14, 10), Dense::random(14, 9, 11));
    load(&db, "a", &a, in_blocks([8, 8]));
    load(&db, "b", &b, in_blocks([8, 4]));
    db.run("CREATE TABLE c AS SELECT * FROM matrix_multiply('a', 'b')");
    let product = a.times(&b);
    assert_eq!(read(&db, "SELECT * FROM c ORDER BY i, j", 20, 9), product);
    let db = db.reopened();
    // It says its shape: one that only has as many blocks is another one.
    let twice = read(&db, "SELECT * FROM matrix_add('c', 'c')", 20, 9);
    assert_eq!(twice, Dense::of(20, 9, |row, column| 2.0 * product.at(row, column)));
    let wrong = db.error("SELECT * FROM matrix_multiply('c', 'a')").to_string();
    assert!(wrong.contains("matrix_multiply") && wrong.contains("8×4") && wrong.contains("8×8"), "{wrong}");
    db.run("CREATE VIEW both AS SELECT * FROM matrix_multiply('a', 'b')");
    assert_eq!(read(&db, "SELECT * FROM matrix_transpose('both')", 9, 20), Dense::of(9, 20, |row, column| product.at(column, row)));
}

#[test]
fn only_what_is_asked_for_is_made() {
    let db = Db::new();
    let a = Dense::random(16, 16, 12);
    load(&db, "a", &a, in_blocks([4, 4]));
    assert_eq!(db.rows("SELECT count(*) FROM matrix_multiply('a', 'a')"), ["16"]);
    assert_eq!(db.rows("SELECT j, i FROM matrix_multiply('a', 'a') ORDER BY i, j LIMIT 3"), ["0|0", "1|0", "2|0"]);
    assert_eq!(db.rows("SELECT max_norm FROM matrix_norm('a')"), ["9.0"]);
    let plan = db.run("EXPLAIN SELECT * FROM matrix_add('a', 'a') ORDER BY i, j").text();
    assert!(plan.contains("MatrixExec: matrix_add of a in blocks of 4×4, a in blocks of 4×4") && plan.contains("StoreScan"), "{plan}");
    // They come in that order.
    assert!(!plan.contains("SortExec"), "{plan}");
}

#[test]
fn blocks_are_read_where_they_lie() {
    let db = Db::with(small_memory(16));
    // 16 MiB each, and of the result half a MiB.
    let (a, b) =
        (Dense::of(256, 8192, |row, column| ((row + column) % 3) as f64), Dense::of(8192, 256, |row, column| ((row * column) % 3) as f64));
    load(&db, "a", &a, in_blocks([256, 256]));
    load(&db, "b", &b, in_blocks([256, 256]));
    let ran = db.run("SELECT * FROM matrix_multiply('a', 'b')");
    assert!(ran.report.peak_memory_bytes < 4 << 20, "{} bytes", ran.report.peak_memory_bytes);
    assert!(ran.report.bytes_touched >= 32 << 20, "{} bytes", ran.report.bytes_touched);
    let c = ran.batches[0].column(2).as_fixed_size_list().value(0);
    let expected: f64 = (0..8192).map(|inner| a.at(5, inner) * b.at(inner, 7)).sum();
    assert_eq!(c.as_primitive::<Float64Type>().value(5 * 256 + 7), expected);
    // What a scan hands out lies in the mapped file, at a line of the cache.
    for batch in db.run("SELECT block FROM a").batches {
        let blocks = batch.column(0).as_fixed_size_list();
        let at = blocks.values().as_primitive::<Float64Type>().values().as_ptr();
        assert!(at.addr().is_multiple_of(64), "{at:p}");
        let bytes = blocks.values().len() * 8;
        assert!(db.segments("a").iter().any(|segment| segment.mapping().unwrap().contains(at.cast(), bytes)), "copied to {at:p}");
    }
}

#[test]
fn a_product_stops_in_its_middle() {
    let db = filled();
    // 65,536 pairs of blocks for one block of the result.
    let copies = 256;
    let key = |value: fn(i64) -> i64| -> ArrayRef { Arc::new((0..copies).map(value).collect::<Int64Array>()) };
    let values = vec![1.0; copies as usize * 128 * 128];
    let rows = rows_of_blocks(key(|_| 0), key(|_| 0), values, in_blocks([128, 128]), None);
    db.load("a", &[], &rows);
    stops(&db, "q-product", "SELECT x.i, y.j, sum_product(x.block, y.block) FROM a x JOIN a y ON x.j = y.i GROUP BY x.i, y.j");
}
