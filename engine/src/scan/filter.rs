//! The conjunction a scan evaluates, in terms of a segment's physical columns.
//!
//! Dynamic filters (from joins and TopK) change while the query runs; the filter is rewritten when
//! one of them has.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::{and_kleene, filter_record_batch, prep_null_mask_filter};
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr, split_conjunction};
use datafusion::physical_expr_adapter::{DefaultPhysicalExprAdapter, PhysicalExprAdapter};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::scalar::ScalarValue;

use super::pruning::ZonePruner;

/// The filter as of now.
#[derive(Debug)]
pub struct CurrentFilter {
    /// Cheapest first; each over the columns `columns` of the physical schema, renumbered.
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    /// Physical columns the conjuncts read.
    pub columns: Vec<usize>,
    pub pruner: Option<ZonePruner>,
    pub never: bool,
}

/// The filter of one partition's stream.
pub struct ScanFilter {
    /// Over the declared schema.
    filter: Option<Arc<dyn PhysicalExpr>>,
    tracking: Option<DynamicFilterTracking>,
    declared: SchemaRef,
    physical: SchemaRef,
    current: CurrentFilter,
}

impl ScanFilter {
    pub fn new(filter: Option<Arc<dyn PhysicalExpr>>, declared: &SchemaRef, physical: &SchemaRef) -> Result<ScanFilter> {
        let tracking = filter.as_ref().map(DynamicFilterTracking::classify);
        let current = CurrentFilter::of(filter.as_ref(), declared, physical)?;
        Ok(ScanFilter { filter, tracking, declared: Arc::clone(declared), physical: Arc::clone(physical), current })
    }

    pub fn current(&self) -> &CurrentFilter {
        &self.current
    }

    /// Takes up what a dynamic filter has learned; whether it had.
    pub fn refresh(&mut self) -> Result<bool> {
        let changed = self.tracking.as_mut().and_then(|tracking| tracking.watcher()).is_some_and(|watcher| watcher.changed());
        if changed {
            self.current = CurrentFilter::of(self.filter.as_ref(), &self.declared, &self.physical)?;
        }
        Ok(changed)
    }
}

impl CurrentFilter {
    fn of(filter: Option<&Arc<dyn PhysicalExpr>>, declared: &SchemaRef, physical: &SchemaRef) -> Result<CurrentFilter> {
        let Some(filter) = filter else {
            return Ok(CurrentFilter { conjuncts: Vec::new(), columns: Vec::new(), pruner: None, never: false });
        };
        let filter = snapshot_physical_expr(Arc::clone(filter))?;
        let adapter = DefaultPhysicalExprAdapter::new(Arc::clone(declared), Arc::clone(physical));
        // Simplifying moves casts from the narrow column to the literal it is compared with.
        let filter = PhysicalExprSimplifier::new(physical).simplify(adapter.rewrite(filter)?)?;
        let pruner = ZonePruner::new(&filter, physical);
        let mut conjuncts: Vec<Arc<dyn PhysicalExpr>> =
            split_conjunction(&filter).into_iter().filter(|expr| !is_literal(expr, true)).cloned().collect();
        let never = conjuncts.iter().any(|expr| is_literal(expr, false));
        conjuncts.sort_by_key(cost);
        let mut columns: Vec<usize> = conjuncts.iter().flat_map(collect_columns).map(|column| column.index()).collect();
        columns.sort_unstable();
        columns.dedup();
        let read = Arc::new(physical.project(&columns)?);
        let conjuncts = conjuncts.into_iter().map(|expr| reassign_expr_columns(expr, &read)).collect::<Result<_>>()?;
        Ok(CurrentFilter { conjuncts, columns, pruner, never })
    }

    /// Which rows of `batch`, which has the columns `self.columns`, pass; None if all do.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let rows = batch.num_rows();
        let mut passed: Option<BooleanArray> = None;
        for conjunct in &self.conjuncts {
            let mask = match &passed {
                // Few rows left: what follows looks at those alone.
                Some(before) if before.true_count() * 8 < rows => {
                    if before.true_count() == 0 {
                        return Ok(passed);
                    }
                    let rest = filter_record_batch(batch, before)?;
                    spread(before, &boolean(conjunct, &rest)?)
                }
                Some(before) => and_kleene(before, &boolean(conjunct, batch)?)?,
                None => boolean(conjunct, batch)?,
            };
            let mask = if mask.null_count() > 0 { prep_null_mask_filter(&mask) } else { mask };
            passed = Some(mask);
        }
        Ok(passed.filter(|mask| mask.true_count() < rows))
    }
}

fn boolean(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    match as_boolean_array(&array) {
        Ok(array) => Ok(array.clone()),
        Err(_) => internal_err!("a filter is of type {}", array.data_type()),
    }
}

/// `inner` has one entry per true entry of `outer`; the result is true where both are.
fn spread(outer: &BooleanArray, inner: &BooleanArray) -> BooleanArray {
    let mut inner = inner.iter();
    let bits = outer.values().iter().map(|bit| bit && inner.next().flatten().unwrap_or(false));
    BooleanArray::from_iter(bits.map(Some))
}

fn is_literal(expr: &Arc<dyn PhysicalExpr>, wanted: bool) -> bool {
    let Some(literal) = expr.downcast_ref::<Literal>() else { return false };
    match literal.value() {
        ScalarValue::Boolean(Some(value)) => *value == wanted,
        value => !wanted && value.is_null(),
    }
}

/// A guess at what a conjunct costs a row: strings and function calls last.
fn cost(expr: &Arc<dyn PhysicalExpr>) -> usize {
    let mut cost = 0;
    let _ = expr.apply(|node| {
        cost += if node.is::<Column>() || node.is::<Literal>() {
            1
        } else {
            match node.to_string() {
                text if text.contains("LIKE") || text.contains('(') => 8,
                _ => 2,
            }
        };
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    });
    cost
}
