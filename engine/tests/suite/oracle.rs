//! The same rows in plain DataFusion: no pruning, no filter at the scan, no narrow columns. What it
//! answers is what the engine must answer.

use arrow::array::AsArray;
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::Int64Type;
use datafusion::common::DataFusionError;
use datafusion::prelude::{SessionConfig, SessionContext};
use engine::RecordBatch;

use super::helpers::{Db, Random, rows_of, wait};

pub struct Oracle {
    context: SessionContext,
}

impl Oracle {
    pub fn new(table: &str, rows: &RecordBatch) -> Oracle {
        let mut config = SessionConfig::new().with_target_partitions(1);
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        let context = SessionContext::new_with_config(config);
        context.register_batch(table, rows.clone()).unwrap();
        Oracle { context }
    }

    pub fn run(&self, sql: &str) -> Result<Vec<RecordBatch>, DataFusionError> {
        wait(async { self.context.sql(sql).await?.collect().await })
    }

    pub fn rows(&self, sql: &str) -> Vec<String> {
        self.run(sql).unwrap().iter().flat_map(rows_of).collect()
    }
}

/// A table `t` in the engine, in segments of some zones each, and in the oracle.
pub struct Twins {
    pub db: Db,
    oracle: Oracle,
    rows: usize,
}

impl Twins {
    /// `ends`: where segments end, in rows.
    pub fn new(rows: &RecordBatch, ends: &[usize]) -> Twins {
        let db = Db::new();
        let mut start = 0;
        for end in ends.iter().copied().chain([rows.num_rows()]) {
            db.load("t", &[], &rows.slice(start, end - start));
            start = end;
        }
        let schema = db.table("t").schema().clone();
        for (stored, field) in schema.fields().iter().zip(rows.schema().fields()) {
            assert_eq!(stored.data_type(), field.data_type(), "the type a column is kept as");
        }
        assert_eq!(db.table("t").segments().len(), ends.len() + 1);
        Twins { db, oracle: Oracle::new("t", rows), rows: rows.num_rows() }
    }

    /// Both give the same rows of `columns` for `predicate`. Where evaluating it on some row fails,
    /// the engine may fail too, or never come to that row.
    pub fn agree(&self, columns: &str, predicate: &str) {
        let sql = format!("SELECT id, {columns} FROM t WHERE {predicate}");
        let (expected, found) = (self.oracle.run(&sql), self.db.try_run(&sql));
        let (expected, found) = match (expected, found) {
            (Ok(expected), Ok(found)) => (expected, found),
            (Err(_), _) => return,
            (Ok(_), Err(error)) => panic!("{sql}: {error}"),
        };
        let report = found.report;
        // A plan that never reads the table counts nothing.
        assert!([0, self.rows as u64].contains(&report.rows_total), "{sql}: {report:?}");
        assert_eq!(report.rows_scanned, report.rows_total, "{sql}: every row is read or pruned: {report:?}");
        assert!(report.zones_pruned <= report.zones_total, "{sql}: {report:?}");
        let (expected, found) = (by_id(&expected), by_id(&found.batches));
        match (expected, found) {
            (None, None) => {}
            (Some(expected), Some(found)) if expected.columns() == found.columns() => {}
            (expected, found) => panic!("{sql}: {}", difference(expected.as_ref(), found.as_ref())),
        }
    }

    /// The engine's answer to a query without an order is the oracle's.
    pub fn same_answer(&self, sql: &str) {
        let sorted = |mut rows: Vec<String>| {
            rows.sort_unstable();
            rows
        };
        assert_eq!(sorted(self.db.rows(sql)), sorted(self.oracle.rows(sql)), "{sql}");
    }
}

/// The rows by their first column; None if there are none.
fn by_id(batches: &[RecordBatch]) -> Option<RecordBatch> {
    let schema = batches.iter().find(|batch| batch.num_rows() > 0)?.schema();
    let rows = concat_batches(&schema, batches).unwrap();
    let order = sort_to_indices(rows.column(0), None, None).unwrap();
    Some(take_record_batch(&rows, &order).unwrap())
}

fn difference(expected: Option<&RecordBatch>, found: Option<&RecordBatch>) -> String {
    let ids = |rows: Option<&RecordBatch>| -> Vec<i64> {
        rows.map_or(Vec::new(), |rows| rows.column(0).as_primitive::<Int64Type>().values().to_vec())
    };
    let (expected_ids, found_ids) = (ids(expected), ids(found));
    let only = |these: &[i64], those: &[i64]| -> Vec<i64> {
        these.iter().copied().filter(|id| those.binary_search(id).is_err()).take(5).collect()
    };
    let (missing, extra) = (only(&expected_ids, &found_ids), only(&found_ids, &expected_ids));
    if !missing.is_empty() || !extra.is_empty() || expected_ids.len() != found_ids.len() {
        let (expected_rows, found_rows) = (expected_ids.len(), found_ids.len());
        return format!("{found_rows} rows for {expected_rows}; missing ids {missing:?}, extra ids {extra:?}");
    }
    let (Some(expected), Some(found)) = (expected, found) else { return "no rows".into() };
    for (column, (expected_column, found_column)) in expected.columns().iter().zip(found.columns()).enumerate() {
        if expected_column.data_type() != found_column.data_type() {
            return format!("column {column} is of type {}, not {}", found_column.data_type(), expected_column.data_type());
        }
        if let Some(row) = (0..expected_column.len()).find(|row| expected_column.slice(*row, 1) != found_column.slice(*row, 1)) {
            let (expected, found) = (rows_of(&expected.slice(row, 1)), rows_of(&found.slice(row, 1)));
            return format!("row {row} is {found:?}, not {expected:?}");
        }
    }
    "the rows differ, and no row does".into()
}

/// Predicates about column `c`, with the literals `v`, `w`, `u`.
pub fn predicates(c: &str, random: &mut Random, literals: &[String]) -> Vec<String> {
    let (v, w, u) = (random.of(literals), random.of(literals), random.of(literals));
    vec![
        format!("{c} = {v}"),
        format!("{c} <> {v}"),
        format!("{c} < {v}"),
        format!("{c} <= {w}"),
        format!("{c} > {w}"),
        format!("{v} <= {c}"),
        format!("{c} > {v} AND {c} < {w}"),
        format!("{c} < {v} OR {c} >= {w}"),
        format!("{c} = {v} OR {c} = {w} OR {c} IS NULL"),
        format!("{c} BETWEEN {v} AND {w}"),
        format!("{c} NOT BETWEEN {v} AND {w}"),
        format!("{c} IN ({v}, {w}, {u})"),
        format!("{c} NOT IN ({v}, {w})"),
        format!("{c} IN ({v}, NULL)"),
        format!("{c} NOT IN ({v}, NULL)"),
        format!("{c} IS NULL"),
        format!("{c} IS NOT NULL"),
        format!("{c} IS DISTINCT FROM {v}"),
        format!("{c} IS NOT DISTINCT FROM {w}"),
        format!("NOT ({c} = {v})"),
        format!("NOT ({c} < {v} AND {c} > {w})"),
        format!("({c} < {v}) IS NULL"),
        format!("({c} >= {v}) IS NOT TRUE"),
        format!("coalesce({c}, {v}) = {v}"),
        format!("CASE WHEN {c} > {v} THEN {c} < {w} ELSE {c} = {u} END"),
        format!("nullif({c}, {v}) IS NULL"),
        format!("{c} = {c} AND NOT ({c} <> {c})"),
        format!("{c} = NULL OR {c} > {u}"),
    ]
}
