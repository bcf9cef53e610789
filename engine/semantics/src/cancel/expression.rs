//! An expression that stops when its query is cancelled.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{DataFusionError, Result, exec_err, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ColumnarValue;
use datafusion::logical_expr::sort_properties::ExprProperties;
use datafusion::physical_expr::PhysicalExpr;

use super::adaptive_batch::AdaptiveBatch;
use super::adaptive_slice::AdaptiveSlice;
use crate::functions::{scalar_bytes, values_bytes};
use common::memory::{EvaluationGuard, reserve};

/// A constant of this size is expanded to a column here, where its memory is counted.
const CONSTANT_BYTES: usize = 1 << 10;

/// Held by the reader of the query's rows; dropping it cancels the query.
#[derive(Debug, Default)]
pub struct ReaderHandle(Arc<()>);

impl ReaderHandle {
    /// It is gone when the handle is.
    pub fn downgraded(&self) -> Weak<()> {
        Arc::downgrade(&self.0)
    }

    /// Memory of the expressions is counted in `pool`, if there is one.
    pub fn watched(&self, pool: Option<&Arc<dyn MemoryPool>>) -> CancelWatch {
        CancelWatch { reader: Arc::downgrade(&self.0), pool: pool.cloned() }
    }
}

/// Checks whether the reader is still there.
#[derive(Debug, Clone)]
pub struct CancelWatch {
    reader: Weak<()>,
    pool: Option<Arc<dyn MemoryPool>>,
}

impl CancelWatch {
    pub fn check(&self) -> Result<()> {
        if self.reader.strong_count() == 0 {
            // Nobody reads this error; it ends the operators that pass it on.
            return exec_err!("the query was cancelled");
        }
        Ok(())
    }

    pub fn pool(&self) -> Option<&Arc<dyn MemoryPool>> {
        self.pool.as_ref()
    }

    /// Reserves memory for the result of an expression, in addition to what its functions reserve.
    fn reserve(&self, bytes: usize) -> Result<()> {
        self.pool.as_ref().map_or(Ok(()), |pool| reserve(pool, || "an expression".to_string(), bytes))
    }
}

/// Evaluates a batch in slices of some milliseconds and checks for cancellation before each. Operators need no change for it, but the
/// thread does not yield between the slices. A slice that does not fit in memory is halved.
#[derive(Debug)]
pub struct CancellableExpr {
    expr: Arc<dyn PhysicalExpr>,
    watch: CancelWatch,
    /// `None` for a cheap expression, which is evaluated for all rows at once.
    pace: Option<AdaptiveSlice>,
    /// The piece sizes of the operator's input.
    pieces: Option<Arc<AdaptiveBatch>>,
}

impl CancellableExpr {
    pub fn new(expr: Arc<dyn PhysicalExpr>, watch: &CancelWatch) -> Self {
        CancellableExpr { expr, watch: watch.clone(), pace: Some(AdaptiveSlice::default()), pieces: None }
    }

    /// For an operator whose input comes in pieces of `adaptive_batch`.
    pub fn in_pieces(expr: Arc<dyn PhysicalExpr>, watch: &CancelWatch, pieces: Option<&Arc<AdaptiveBatch>>) -> Self {
        CancellableExpr { pieces: pieces.cloned(), ..CancellableExpr::new(expr, watch) }
    }

    /// For an operator that processes all batches in one step; the expression checks once per batch.
    pub fn in_one_piece(expr: Arc<dyn PhysicalExpr>, watch: &CancelWatch) -> Self {
        CancellableExpr { expr, watch: watch.clone(), pace: None, pieces: None }
    }
}

impl CancellableExpr {
    fn in_slices(&self, pace: &AdaptiveSlice, batch: &RecordBatch) -> Result<ColumnarValue> {
        let total = batch.num_rows();
        let (mut parts, mut done) = (Vec::new(), 0);
        let mut most = total;
        loop {
            let rows = pace.slice(total - done).min(most);
            let slice = batch.slice(done, rows);
            self.watch.check()?;
            let before = EvaluationGuard::counted();
            let value = match pace.timed(rows, || self.expr.evaluate(&slice)) {
                Err(error) if rows > 1 && is_out_of_memory(&error) => {
                    EvaluationGuard::count(before);
                    most = rows / 2;
                    continue;
                }
                value => value?,
            };
            if rows == total {
                return Ok(value);
            }
            let part = self.array_of(value, rows)?;
            // Intermediate values are freed by now.
            EvaluationGuard::count(before.saturating_add(values_bytes(&part, 0, rows)));
            parts.push(part);
            done += rows;
            if done == total {
                break;
            }
        }
        self.watch.reserve(parts.iter().map(|part| values_bytes(part, 0, part.len())).sum())?;
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }

    fn array_of(&self, value: ColumnarValue, rows: usize) -> Result<ArrayRef> {
        if let ColumnarValue::Scalar(constant) = &value {
            self.watch.reserve(scalar_bytes(constant).saturating_mul(rows))?;
        }
        value.into_array(rows)
    }
}

/// The evaluation may succeed with fewer rows.
pub fn is_out_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

impl PhysicalExpr for CancellableExpr {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let Some(pace) = &self.pace else {
            self.watch.check()?;
            return self.expr.evaluate(batch);
        };
        let evaluating = EvaluationGuard::begin();
        let value = self.in_slices(pace, batch)?;
        let is_large = matches!(&value, ColumnarValue::Scalar(constant) if scalar_bytes(constant) > CONSTANT_BYTES);
        let value = if is_large { ColumnarValue::Array(self.array_of(value, batch.num_rows())?) } else { value };
        let Some(evaluating) = evaluating else { return Ok(value) };
        if let Some(pieces) = &self.pieces {
            let result = if let ColumnarValue::Array(array) = &value { values_bytes(array, 0, array.len()) } else { 0 };
            pieces.made(evaluating.total_bytes().max(result));
        }
        match value {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(evaluating.finish(array)?)),
            constant => Ok(constant),
        }
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.expr.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.expr]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.pop()) {
            (Some(expr), None) => {
                let pace = self.pace.is_some().then(AdaptiveSlice::default);
                Ok(Arc::new(CancellableExpr { expr, watch: self.watch.clone(), pace, pieces: self.pieces.clone() }))
            }
            _ => internal_err!("a stoppable expression has one child"),
        }
    }

    fn get_properties(&self, children: &[ExprProperties]) -> Result<ExprProperties> {
        match children {
            [child] => Ok(child.clone()),
            _ => internal_err!("a stoppable expression has one child"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)
    }
}

impl fmt::Display for CancellableExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl PartialEq for CancellableExpr {
    fn eq(&self, other: &Self) -> bool {
        self.expr.eq(&other.expr)
    }
}

impl Eq for CancellableExpr {}

impl Hash for CancellableExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expr.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Int64Type};
    use datafusion::physical_expr::expressions::Column;

    use super::*;

    /// Column 0, at a millisecond a row; after so many rows the reader is dropped.
    #[derive(Debug)]
    struct Slow {
        column: Column,
        evaluated: Arc<AtomicUsize>,
        leaves_after: usize,
        reader: Mutex<Option<ReaderHandle>>,
    }

    impl PhysicalExpr for Slow {
        fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
            sleep(Duration::from_millis(batch.num_rows() as u64));
            if self.evaluated.fetch_add(batch.num_rows(), Ordering::SeqCst) + batch.num_rows() >= self.leaves_after {
                self.reader.lock().unwrap().take();
            }
            self.column.evaluate(batch)
        }

        fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
            self.column.return_field(schema)
        }

        fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
            Vec::new()
        }

        fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
            Ok(self)
        }

        fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "slow")
        }
    }

    impl fmt::Display for Slow {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "slow")
        }
    }

    impl PartialEq for Slow {
        fn eq(&self, other: &Self) -> bool {
            self.column == other.column
        }
    }

    impl Eq for Slow {}

    impl Hash for Slow {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.column.hash(state);
        }
    }

    /// The result for 300 rows, and how many were evaluated.
    fn evaluate(leaves_after: usize) -> (Result<Vec<i64>>, usize) {
        let reader = ReaderHandle::default();
        let watch = reader.watched(None);
        let evaluated = Arc::new(AtomicUsize::new(0));
        let reader = Mutex::new(Some(reader));
        let slow = Slow { column: Column::new("a", 0), evaluated: Arc::clone(&evaluated), leaves_after, reader };
        let expr = CancellableExpr::new(Arc::new(slow), &watch);
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let batch = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from_iter_values(0..300))]).unwrap();
        let result = expr.evaluate(&batch).and_then(|value| value.into_array(300));
        (result.map(|array| array.as_primitive::<Int64Type>().values().to_vec()), evaluated.load(Ordering::SeqCst))
    }

    #[test]
    fn slices_make_the_whole() {
        let (result, evaluated) = evaluate(usize::MAX);
        assert_eq!(result.unwrap(), (0..300).collect::<Vec<i64>>());
        assert_eq!(evaluated, 300);
    }

    #[test]
    fn without_a_reader_the_rest_of_a_batch_is_not_evaluated() {
        let (result, evaluated) = evaluate(30);
        assert!(result.unwrap_err().to_string().contains("cancelled"));
        assert!((30..200).contains(&evaluated), "{evaluated} rows");
    }
}
