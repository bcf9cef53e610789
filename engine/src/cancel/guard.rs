//! A join's filter that fails once the query is cancelled.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::{FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::error::EngineError;

#[derive(Debug, Clone)]
pub struct Guard {
    pub filter: Arc<dyn PhysicalExpr>,
    pub cancelled: Arc<AtomicBool>,
}

impl PhysicalExpr for Guard {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled.into_datafusion());
        }
        self.filter.evaluate(batch)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.filter.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.filter]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.pop()) {
            (Some(filter), None) => Ok(Arc::new(Guard { filter, cancelled: Arc::clone(&self.cancelled) })),
            _ => internal_err!("a guard has one filter"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt_sql(f)
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt(f)
    }
}

impl PartialEq for Guard {
    fn eq(&self, other: &Self) -> bool {
        self.filter.eq(&other.filter)
    }
}

impl Eq for Guard {}

impl Hash for Guard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.filter.hash(state);
    }
}
