//! The shape of a tensor goes along: through queries, statements that write, files, parameters and batches that a program sends.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float64Type, Schema};
use engine::import::{IfExists, IfMissing, IngestTarget};
use engine::tensor_field;
use futures::stream;

use super::tensors::{BLOCK, blocks, types};
use crate::helpers::{Db, wait};

/// Blocks as a program sends them: (id, block) with blocks of the shape, full of 0, 1, 2, …
fn batch(rows: usize, shape: &[usize]) -> RecordBatch {
    let width: usize = shape.iter().product();
    let field = tensor_field("block", DataType::Float64, shape, true).unwrap();
    let DataType::FixedSizeList(item, size) = field.data_type() else { unreachable!("a tensor is a list") };
    let values = Float64Array::from_iter_values((0..rows * width).map(|value| value as f64));
    let lists = FixedSizeListArray::new(Arc::clone(item), *size, Arc::new(values), None);
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), field]);
    RecordBatch::try_new(Arc::new(schema), vec![ids, Arc::new(lists)]).unwrap()
}

fn send(db: &Db, table: &str, batch: RecordBatch) -> Result<u64, engine::EngineError> {
    let target = IngestTarget { schema: None, table: table.into(), if_missing: IfMissing::Create, if_exists: IfExists::Append };
    wait(db.session.ingest(target, batch.schema(), stream::iter([Ok(batch)])))
}

#[test]
fn queries_give_tensors_as_such() {
    let db = blocks();
    db.script(
        "CREATE VIEW v AS SELECT block, i FROM a; CREATE TABLE b AS SELECT * FROM a; CREATE TABLE n (i BIGINT, w VARCHAR);
         INSERT INTO n VALUES (0, 'x'), (1, 'y')",
    );
    for sql in [
        "SELECT block FROM a",
        "SELECT a.block AS renamed FROM a WHERE i = 0 AND j = 1",
        "SELECT block FROM a ORDER BY i DESC, j LIMIT 1",
        "SELECT block FROM a LIMIT 1 OFFSET 1",
        "SELECT block FROM (SELECT * FROM a) AS s",
        "WITH c AS (SELECT block, i FROM a) SELECT block FROM c WHERE i = 0",
        "SELECT block FROM v",
        "SELECT block FROM v WHERE i = 1",
        "SELECT a.block FROM a JOIN n ON a.i = n.i",
        "SELECT a.block FROM n LEFT JOIN a ON a.i = n.i AND a.j = 7",
        "SELECT a.block FROM a FULL JOIN n ON a.i = n.i + 1",
        "SELECT block FROM a WHERE i IN (SELECT i FROM n)",
        "SELECT block FROM a UNION ALL SELECT block FROM b",
        "SELECT block FROM a UNION ALL SELECT CAST(NULL AS TENSOR(DOUBLE, 2, 2))",
        "SELECT DISTINCT block FROM a",
        "SELECT block FROM a GROUP BY block",
        "SELECT CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2))",
        "SELECT [1, 2, 3, 4]::TENSOR(DOUBLE, 2, 2)",
        "SELECT CAST(CAST(block AS DOUBLE[]) AS TENSOR(DOUBLE, 2, 2)) FROM a",
        "SELECT CAST(CAST(block AS DOUBLE[4]) AS TENSOR(DOUBLE, 2, 2)) FROM a",
        "SELECT TRY_CAST([1] AS TENSOR(DOUBLE, 2, 2))",
        "SELECT CAST(NULL AS TENSOR(DOUBLE, 2, 2))",
        "SELECT (SELECT block FROM a WHERE i = 0 AND j = 0)",
    ] {
        assert_eq!(types(&db, sql), [BLOCK], "{sql}");
    }
    assert_eq!(types(&db, "SELECT block, row_number() OVER (PARTITION BY i ORDER BY j) FROM a")[0], BLOCK);
    for sql in ["SELECT CAST(block AS DOUBLE[4]) FROM a", "SELECT CAST(CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)) AS DOUBLE[4])"] {
        assert_eq!(types(&db, sql), ["DOUBLE[4]"], "{sql}");
    }
    for sql in [
        "SELECT block FROM a UNION ALL SELECT CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 4, 1))",
        "SELECT CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 4, 1)) AS block UNION SELECT block FROM a",
        "SELECT block FROM a UNION ALL SELECT CAST(block AS TENSOR(DOUBLE, 1, 4)) FROM b UNION ALL SELECT NULL",
    ] {
        assert_eq!(types(&db, sql), ["DOUBLE[4]"], "{sql}");
    }
    assert_eq!(db.value("SELECT count(*) FROM (SELECT block FROM a UNION SELECT CAST(block AS TENSOR(DOUBLE, 4, 1)) FROM a)"), "3");
}

#[test]
fn what_is_chosen_among_tensors_of_one_shape_is_one() {
    let db = blocks();
    db.run("CREATE TABLE b AS SELECT i, CAST(block AS TENSOR(DOUBLE, 4, 1)) AS tall, CAST(block AS DOUBLE[4]) AS list, block FROM a");
    for choice in [
        "CASE WHEN i = 0 THEN block ELSE matrix_transpose(block) END",
        "CASE i WHEN 0 THEN block WHEN 1 THEN NULL END",
        "CASE WHEN i = 0 THEN NULL ELSE block END",
        "CASE WHEN i = 0 THEN CASE WHEN i > 1 THEN block END ELSE coalesce(block, block) END",
        "coalesce(block, CAST([0, 0, 0, 0] AS TENSOR(DOUBLE, 2, 2)))",
        "coalesce(NULL, block)",
        "nvl2(block, block, matrix_transpose(block))",
        "nullif(block, CAST([1, 2, 3, 4] AS TENSOR(DOUBLE, 2, 2)))",
    ] {
        for sql in [
            format!("SELECT {choice} AS c FROM b"),
            format!("SELECT c FROM (SELECT {choice} AS c, i FROM b) AS s WHERE i = 0 ORDER BY i LIMIT 2"),
            format!("SELECT {choice} FROM b GROUP BY {choice}"),
            format!("SELECT {choice} AS c FROM b UNION ALL SELECT block FROM a"),
            format!("SELECT first_value({choice}) FROM b"),
        ] {
            assert_eq!(types(&db, &sql), [BLOCK], "{sql}");
        }
        db.run(&format!("CREATE OR REPLACE TABLE c AS SELECT {choice} AS c FROM b"));
        assert_eq!(types(&db, "SELECT * FROM c"), [BLOCK], "{choice}");
    }
    for choice in ["CASE WHEN i = 0 THEN block ELSE tall END", "coalesce(tall, block)", "coalesce(block, list)", "nvl2(list, list, block)"]
    {
        assert_eq!(types(&db, &format!("SELECT {choice} FROM b")), ["DOUBLE[4]"], "{choice}");
    }
    let rows = db.rows("SELECT CASE WHEN j = 1 THEN matrix_transpose(block) ELSE coalesce(block, CAST([0, 0, 0, 1] AS TENSOR(DOUBLE, 2, 2))) END FROM a ORDER BY i, j");
    assert_eq!(rows, ["[1.0, 2.0, 3.0, 4.0]", "[5.0, 7.0, 6.0, 8.5]", "[0.0, 0.0, 0.0, 1.0]"]);
    assert_eq!(db.value("SELECT count(*) FROM b WHERE coalesce(block, tall) IS NULL AND CASE i WHEN 1 THEN tall END IS NULL"), "1");
}

/// What DESCRIBE says of the columns: `name type`.
fn described(db: &Db, of: &str) -> Vec<String> {
    let rows = db.rows(&format!("DESCRIBE {of}"));
    rows.iter().map(|row| row.split('|').take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn describe_says_what_the_columns_of_a_query_or_a_view_are_when_they_are_read() {
    let db = blocks();
    let queries = [
        "SELECT CASE WHEN i = 0 THEN block END AS c FROM a",
        "SELECT coalesce(block, matrix_transpose(block)) AS c FROM a UNION ALL SELECT NULL",
        "SELECT c FROM (SELECT nullif(block, block) AS c, i FROM a) AS s WHERE i = 1",
        "SELECT CASE WHEN i = 0 THEN CAST(block AS DOUBLE[4]) END AS c FROM a",
        "SELECT 1 AS c UNION ALL SELECT 2.5e0",
    ];
    for query in queries {
        let expected = types(&db, query).iter().map(|name| format!("c {name}")).collect::<Vec<_>>();
        assert_eq!(described(&db, query), expected, "{query}");
        db.run(&format!("CREATE OR REPLACE VIEW v AS {query}"));
        assert_eq!(described(&db, "v"), expected, "{query}");
        let output = wait(db.session.describe("SELECT c FROM v")).unwrap();
        assert_eq!(output.schema.fields().len(), 1);
    }
    db.run(&format!("CREATE OR REPLACE VIEW v AS {}", queries[0]));
    assert_eq!(db.rows("SELECT matrix_transpose(c) FROM v WHERE c IS NOT NULL"), ["[1.0, 3.0, 2.0, 4.0]", "[5.0, 7.0, 6.0, 8.5]"]);
    let description = wait(db.session.describe(queries[0])).unwrap();
    assert_eq!(engine::column_type_name(description.schema.field(0)), BLOCK);
    assert!(db.error("DESCRIBE SELECT nothing FROM a").to_string().contains("nothing"));
    assert!(db.error("DESCRIBE nowhere").to_string().contains("nowhere"));
}

#[test]
fn a_recursive_query_has_tensors_of_the_shape_that_its_first_part_says() {
    let db = blocks();
    let recursive = |first: &str, next: &str| {
        format!(
            "WITH RECURSIVE r (n, c) AS (SELECT i, {first} FROM a WHERE j = 1 UNION ALL SELECT n + 1, {next} FROM r WHERE n < 2) SELECT c FROM r ORDER BY n"
        )
    };
    for (first, next) in [
        ("block", "c"),
        ("block", "CASE WHEN n = 0 THEN matrix_transpose(c) ELSE c END"),
        ("CASE WHEN i = 0 THEN block END", "c"),
        ("CASE WHEN i = 0 THEN block END", "coalesce(c, c)"),
        ("block", "CAST(c AS DOUBLE[4])"),
    ] {
        assert_eq!(types(&db, &recursive(first, next)), [BLOCK], "{first}, {next}");
        assert_eq!(db.rows(&recursive(first, next)).len(), 3, "{first}, {next}");
    }
    let rows = db.rows(&recursive("block", "CASE WHEN n = 0 THEN matrix_transpose(c) ELSE c END"));
    assert_eq!(rows, ["[5.0, 6.0, 7.0, 8.5]", "[5.0, 7.0, 6.0, 8.5]", "[5.0, 7.0, 6.0, 8.5]"]);
    assert_eq!(types(&db, &recursive("block", "NULL")), [BLOCK]);
    assert_eq!(types(&db, &recursive("CAST(block AS DOUBLE[4])", "CAST(c AS TENSOR(DOUBLE, 2, 2))")), ["DOUBLE[4]"]);
    // What is around the recursion has nothing to do with it.
    let around = "WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 2) SELECT CASE WHEN n = 1 THEN block END FROM a JOIN r ON i = n";
    assert_eq!(types(&db, around), [BLOCK]);
    let error = db.error(&recursive("block", "CAST(c AS TENSOR(DOUBLE, 4, 1))")).to_string();
    assert!(
        error.contains("of the recursive query \"r\" is a TENSOR(DOUBLE, 2, 2) in its first part and a TENSOR(DOUBLE, 4, 1)"),
        "{error}"
    );
}

#[test]
fn a_tensor_becomes_a_list_of_its_rows_and_no_other_list_one_of_lists() {
    let db = blocks();
    db.run("CREATE TABLE l (w DOUBLE[][])");
    db.run("INSERT INTO l SELECT block FROM a");
    assert_eq!(db.rows("SELECT w FROM l"), ["[[1.0, 2.0], [3.0, 4.0]]", "[[5.0, 6.0], [7.0, 8.5]]", "NULL"]);
    let nested = "SELECT CAST(CAST(matrix_transpose(block) AS DOUBLE[][]) AS TENSOR(DOUBLE, 2, 2)) FROM a WHERE j = 1";
    assert_eq!(db.rows(nested), ["[5.0, 7.0, 6.0, 8.5]"]);
    db.run("DELETE FROM l");
    let tensor = batch(1, &[2, 2]).project(&[1]).unwrap();
    wait(db.session.execute_rows("INSERT INTO l VALUES ($1)", &tensor)).unwrap();
    wait(db.session.execute_rows("UPDATE l SET w = $1", &tensor)).unwrap();
    wait(db.session.append("l", &RecordBatch::try_from_iter([("w", Arc::clone(tensor.column(0)))]).unwrap())).unwrap_err();
    db.run("INSERT INTO l VALUES ([]), ([[1, 2], [3]]), (NULL)");
    assert_eq!(db.sorted_rows("SELECT w FROM l"), ["NULL", "[[0.0, 1.0], [2.0, 3.0]]", "[[1.0, 2.0], [3.0]]", "[]"]);
    for sql in [
        "INSERT INTO l VALUES ([1, 2])",
        "INSERT INTO l SELECT CAST(block AS DOUBLE[4]) FROM a",
        "SELECT CAST([1.5e0, 2] AS DOUBLE[][])",
        "SELECT CAST(block AS DOUBLE[][][]) FROM a",
    ] {
        let error = db.error(sql).to_string();
        assert!(error.contains("are no lists, as those of a DOUBLE[]["), "{sql}: {error}");
    }
    for of_none in ["[NULL]", "[CAST(NULL AS BIGINT)]"] {
        assert_eq!(db.value(&format!("SELECT CAST({of_none} AS DOUBLE[][])")), "[NULL]", "{of_none}");
    }
    assert_eq!(db.value("SELECT TRY_CAST([1, 2] AS BIGINT[][]) IS NULL, TRY_CAST([[1, 2]] AS BIGINT[][])"), "true|[[1, 2]]");
}

#[test]
fn statements_that_write_keep_tensors() {
    let db = blocks();
    db.run("CREATE TABLE c AS SELECT i, block FROM a WHERE i = 0 ORDER BY j DESC");
    db.run("CREATE TABLE d (i INT, block TENSOR(REAL, 2, 2)) AS SELECT i, block FROM a");
    db.run("CREATE TABLE e (i INT, block TENSOR(DOUBLE, 2, 2)) AS SELECT * FROM (VALUES (1, [1, 2, 3, 4]), (2, NULL)) AS s (i, b)");
    db.run("CREATE TABLE f (x, m) AS SELECT i, block FROM a");
    assert_eq!(types(&db, "SELECT * FROM c"), ["BIGINT", BLOCK]);
    assert_eq!(types(&db, "SELECT * FROM d"), ["INTEGER", "TENSOR(REAL, 2, 2)"]);
    assert_eq!(types(&db, "SELECT * FROM e"), ["INTEGER", BLOCK]);
    assert_eq!(types(&db, "SELECT * FROM f"), ["BIGINT", BLOCK]);
    db.run("INSERT INTO c SELECT j, block FROM a WHERE j = 1");
    db.run("UPDATE c SET block = [9, 9, 9, 9] WHERE i = 1");
    db.run("DELETE FROM c WHERE i = 0");
    assert_eq!(db.rows("SELECT * FROM c"), ["1|[9.0, 9.0, 9.0, 9.0]"]);
    db.run("UPDATE a SET block = (SELECT block FROM c) WHERE block IS NULL");
    db.run("MERGE INTO a USING c ON a.i = 7 WHEN NOT MATCHED THEN INSERT (i, j, block) VALUES (7, 7, c.block)");
    assert_eq!(db.value("SELECT count(*) FROM a WHERE block = CAST([9, 9, 9, 9] AS TENSOR(DOUBLE, 2, 2))"), "2");
    db.run("OPTIMIZE TABLE a FULL");
    assert_eq!(types(&db.reopened(), "SELECT * FROM a"), ["BIGINT", "BIGINT", BLOCK]);
}

#[test]
fn files_carry_tensors_there_and_back() {
    let db = blocks();
    for format in ["arrow", "parquet"] {
        let path = db.file(&format!("a.{format}"));
        db.run(&format!("COPY a TO '{path}'"));
        let table = format!("of_{format}");
        let scan = engine::import::FileScan::open(&[path.clone()], Default::default()).unwrap();
        let load = engine::import::LoadOptions {
            namespace: "main".into(),
            table: table.clone(),
            order_by: Vec::new(),
            mode: engine::import::LoadMode::Append,
        };
        wait(db.session.import(load, scan)).unwrap();
        assert_eq!(types(&db, &format!("SELECT * FROM {table}")), ["BIGINT", "BIGINT", BLOCK], "{format}");
        assert_eq!(db.rows(&format!("SELECT * FROM {table} ORDER BY i, j")), db.rows("SELECT * FROM a ORDER BY i, j"));
        db.run(&format!("CREATE TABLE other_{format} (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 4, 1))"));
        let error = db.error(&format!("COPY other_{format} FROM '{path}'")).to_string();
        assert!(error.contains(BLOCK) && error.contains("TENSOR(DOUBLE, 4, 1)"), "{error}");
    }
    let path = db.file("a.jsonl");
    db.run(&format!("COPY a TO '{path}' (FORMAT json)"));
    db.run("CREATE TABLE of_json (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 2, 2))");
    db.run(&format!("COPY of_json FROM '{path}' (FORMAT json)"));
    assert_eq!(db.rows("SELECT * FROM of_json ORDER BY i, j"), db.rows("SELECT * FROM a ORDER BY i, j"));
}

#[test]
fn batches_that_a_program_sends_make_columns_of_tensors() {
    let db = Db::new();
    assert_eq!(send(&db, "t", batch(3, &[2, 3])).unwrap(), 3);
    assert_eq!(send(&db, "t", batch(2, &[2, 3]).slice(1, 1)).unwrap(), 1);
    assert_eq!(types(&db, "SELECT * FROM t"), ["BIGINT", "TENSOR(DOUBLE, 2, 3)"]);
    assert_eq!(db.value("SELECT count(*), count(DISTINCT block) FROM t"), "4|3");
    let error = send(&db, "t", batch(1, &[3, 2])).unwrap_err().to_string();
    assert!(error.contains("TENSOR(DOUBLE, 3, 2)") && error.contains("TENSOR(DOUBLE, 2, 3)"), "{error}");
}

#[test]
fn parameters_are_tensors_where_the_statement_or_the_value_says_so() {
    let db = blocks();
    let described = wait(db.session.describe("INSERT INTO a VALUES ($1, $2, $3)")).unwrap();
    assert_eq!(engine::column_type_name(described.parameters.field(2)), BLOCK);
    let described = wait(db.session.describe("SELECT CAST($1 AS TENSOR(DOUBLE, 2, 2)) AS x")).unwrap();
    assert_eq!(engine::column_type_name(described.parameters.field(0)), BLOCK);
    assert_eq!(engine::column_type_name(described.schema.field(0)), BLOCK);

    let values = batch(2, &[2, 2]);
    let parameters = RecordBatch::try_from_iter([
        ("i", Arc::clone(values.column(0))),
        ("j", Arc::clone(values.column(0))),
        ("b", Arc::clone(values.column(1))),
    ]);
    assert_eq!(wait(db.session.execute_rows("INSERT INTO a VALUES ($1, $2, $3)", &parameters.unwrap())).unwrap(), 2);
    let one = values.project(&[1]).unwrap();
    let output = wait(db.session.execute_with("SELECT $1 AS x, count(*) FROM a WHERE block = $1", &one, 1)).unwrap();
    assert_eq!(engine::column_type_name(output.schema().field(0)), BLOCK);
    let (batches, _) = wait(output.collect()).unwrap();
    assert_eq!(batches[0].column(1).as_primitive::<arrow::datatypes::Int64Type>().value(0), 1);
    db.run("PREPARE p AS INSERT INTO a VALUES ($1, $2, $3)");
    db.run("EXECUTE p(8, 8, [8, 8, 8, 8])");
    assert_eq!(db.value("SELECT block FROM a WHERE i = 8"), "[8.0, 8.0, 8.0, 8.0]");
}

#[test]
fn lists_of_any_length_are_parameters_for_a_tensor_if_they_have_its_length() {
    let db = blocks();
    let lists = |values: Vec<Option<f64>>| {
        let list = arrow::array::ListArray::from_iter_primitive::<Float64Type, _, _>([Some(values.clone()), Some(values)]);
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![20, 21]));
        RecordBatch::try_from_iter([("i", Arc::clone(&ids)), ("j", ids), ("b", Arc::new(list) as ArrayRef)]).unwrap()
    };
    let four = lists(vec![Some(1.0), None, Some(3.0), Some(4.0)]);
    assert_eq!(wait(db.session.execute_rows("INSERT INTO a VALUES ($1, $2, $3)", &four.slice(1, 1))).unwrap(), 1);
    assert_eq!(db.rows("SELECT block FROM a WHERE i >= 20"), ["[1.0, NULL, 3.0, 4.0]"]);
    let error = wait(db.session.execute_rows("INSERT INTO a VALUES ($1, $2, $3)", &lists(vec![Some(1.0)]))).unwrap_err();
    assert!(error.to_string().contains("a list of 1 elements cannot be a TENSOR(DOUBLE, 2, 2)"), "{error}");
}

#[test]
fn a_batch_that_is_appended_is_held_against_size_and_shape() {
    let db = Db::new();
    db.run("CREATE TABLE t (id BIGINT, block TENSOR(DOUBLE, 2, 2))");
    assert_eq!(wait(db.session.append("t", &batch(2, &[2, 2]))).unwrap(), 2);
    let error = wait(db.session.append("t", &batch(1, &[4, 1]))).unwrap_err().to_string();
    assert!(error.contains("a TENSOR(DOUBLE, 4, 1) cannot go into column \"block\""), "{error}");
    let lists = arrow::array::ListArray::from_iter_primitive::<Float64Type, _, _>(
        (0..3).map(|row| Some((0..4).map(move |at| Some(f64::from(row * 4 + at))))),
    );
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9]));
    let rows = RecordBatch::try_from_iter([("id", ids), ("block", Arc::new(lists) as ArrayRef)]).unwrap();
    assert_eq!(wait(db.session.append("t", &rows.slice(2, 1))).unwrap(), 1);
    assert_eq!(db.value("SELECT block FROM t WHERE id = 9"), "[8.0, 9.0, 10.0, 11.0]");
}

#[test]
fn a_row_of_128_mib_is_stored_and_read_where_it_lies() {
    let db = Db::new();
    let wide = batch(1, &[4096, 4096]);
    assert_eq!(send(&db, "t", wide.clone()).unwrap(), 1);
    assert_eq!(send(&db, "t", wide).unwrap(), 1);
    let ran = db.run("SELECT block FROM t WHERE id = 0 LIMIT 1");
    let row = ran.batches[0].column(0).as_fixed_size_list().value(0);
    assert_eq!(row.as_primitive::<Float64Type>().value((1 << 24) - 1), ((1 << 24) - 1) as f64);
    assert_eq!(row.as_primitive::<Float64Type>().values().as_ptr().align_offset(64), 0);
    assert_eq!(db.value("SELECT count(*), count(block) FROM t"), "2|2");
}
