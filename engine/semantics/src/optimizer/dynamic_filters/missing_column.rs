//! A filter over some of its columns.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, StructArray};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::{Column, InListExpr, Literal, lit};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr, conjunction, split_conjunction};

/// A column that a filter needs and that is not there. What has one is left out before it is evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MissingColumn(FieldRef);

impl PhysicalExpr for MissingColumn {
    fn evaluate(&self, _batch: &RecordBatch) -> Result<ColumnarValue> {
        internal_err!("a filter was evaluated without its column {}", self.0.name())
    }

    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.0))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MissingColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// A filter over an operator's output as one over an input, of which `columns` has the position of each column of the output. `None` if it
/// has no column of the filter.
pub fn over_input(filter: &Arc<dyn PhysicalExpr>, columns: &[Option<usize>], output: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut has_column = false;
    let moved = Arc::clone(filter).transform_up(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let moved: Arc<dyn PhysicalExpr> = match columns.get(column.index()).copied().flatten() {
            Some(position) => {
                has_column = true;
                Arc::new(Column::new(column.name(), position))
            }
            None => Arc::new(MissingColumn(Arc::new(output.field(column.index()).clone()))),
        };
        Ok(Transformed::yes(moved))
    })?;
    Ok(has_column.then_some(moved.data))
}

/// The conditions of a filter that need no missing column. A list of keys becomes also a list for each of them: the row may have no key of
/// the list, which the operator that made the filter finds out, and its own test costs less.
pub fn present_part(filter: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let mut parts = Vec::new();
    let mut is_changed = false;
    for part in split_conjunction(&filter) {
        if let Some(lists) = lists_of_keys(part, schema)? {
            is_changed = true;
            parts.extend(lists);
        }
        if is_partial(part) {
            is_changed = true;
        } else {
            parts.push(Arc::clone(part));
        }
    }
    match (is_changed, parts.is_empty()) {
        (false, _) => Ok(filter),
        (true, true) => Ok(lit(true)),
        (true, false) => Ok(conjunction(parts)),
    }
}

/// Whether a column is missing.
pub fn is_partial(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut is_partial = false;
    // Only the closure could fail.
    let _ = expr.apply(|node| {
        is_partial |= node.is::<MissingColumn>();
        Ok(if is_partial { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    is_partial
}

/// `struct(a, b) IN (…)`, which a join with several keys makes, as `a IN (…)` and `b IN (…)`.
fn lists_of_keys(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<Vec<Arc<dyn PhysicalExpr>>>> {
    let Some(list) = expr.downcast_ref::<InListExpr>().filter(|list| !list.negated() && !list.is_empty()) else { return Ok(None) };
    let Some(keys) = list.expr().downcast_ref::<ScalarFunctionExpr>().filter(|function| function.name() == "struct") else {
        return Ok(None);
    };
    let rows: Option<Vec<_>> = list.list().iter().map(|row| struct_of(row)).collect();
    let Some(rows) = rows else { return Ok(None) };
    let mut lists = Vec::new();
    let mut columns = HashSet::new();
    for (at, key) in keys.args().iter().enumerate() {
        if !key.is::<Column>() || !columns.insert(key) {
            continue;
        }
        let values: Vec<&dyn Array> = rows.iter().map(|row| row.column(at).as_ref()).collect();
        lists.push(Arc::new(InListExpr::try_new_from_array(Arc::clone(key), concat(&values)?, false, schema)?) as Arc<dyn PhysicalExpr>);
    }
    Ok(Some(lists))
}

fn struct_of(row: &Arc<dyn PhysicalExpr>) -> Option<&StructArray> {
    match row.downcast_ref::<Literal>()?.value() {
        ScalarValue::Struct(row) => Some(row.as_ref()),
        _ => None,
    }
}
