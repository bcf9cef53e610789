//! The conjunction that a scan evaluates, over a segment's physical columns.
//!
//! Dynamic filters (of joins and TopK) change while the query runs; when one does, the filter is rewritten.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, InListExpr, Literal, lit};
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_expr_adapter::{DefaultPhysicalExprAdapter, PhysicalExprAdapter};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::joins::HashTableLookupExpr;
use datafusion::scalar::ScalarValue;

use super::conjunct::{Condition, Conjunct, PartialEvaluation};
use super::pruning::ZonePruner;
use super::selection::Selection;
use super::whole_zones::WholeZones;
use common::engine_settings::EngineSettings;
use semantics::integer_set::IntegerSet;
use semantics::optimizer::{KeySetTest, exact_filter};

/// The current filter.
#[derive(Debug)]
pub struct CurrentFilter {
    conditions: Vec<Condition>,
    /// The same over the stored columns of a part, cheapest first.
    conjuncts: Vec<Conjunct>,
    /// Physical columns that the conjuncts read, ascending.
    pub columns: Vec<usize>,
    pub pruner: Option<ZonePruner>,
    /// `None` if no zone is known to pass as a whole.
    pub whole_zones: Option<WholeZones>,
    /// No row passes.
    pub never: bool,
}

/// The filter of one partition's stream.
pub struct ScanFilter {
    /// Over the declared schema.
    filter: Option<Arc<dyn PhysicalExpr>>,
    tracking: Option<DynamicFilterTracking>,
    declared: SchemaRef,
    physical: SchemaRef,
    /// The types in which the part that is being read has the columns.
    stored: SchemaRef,
    current: CurrentFilter,
    switches: EngineSettings,
}

impl ScanFilter {
    pub fn new(
        filter: Option<Arc<dyn PhysicalExpr>>,
        declared: &SchemaRef,
        physical: &SchemaRef,
        switches: EngineSettings,
    ) -> Result<ScanFilter> {
        let tracking = filter.as_ref().map(DynamicFilterTracking::classify);
        let current = CurrentFilter::of(filter.as_ref(), declared, physical, physical, &switches)?;
        let (declared, physical) = (Arc::clone(declared), Arc::clone(physical));
        Ok(ScanFilter { filter, tracking, declared, stored: Arc::clone(&physical), physical, current, switches })
    }

    pub fn current(&self) -> &CurrentFilter {
        &self.current
    }

    /// Rewrites the filter if a dynamic filter has changed; returns whether one had.
    pub fn refresh(&mut self) -> Result<bool> {
        let changed = self.tracking.as_mut().and_then(|tracking| tracking.watcher()).is_some_and(|watcher| watcher.changed());
        if changed {
            let mut new = CurrentFilter::of(self.filter.as_ref(), &self.declared, &self.physical, &self.stored, &self.switches)?;
            new.conjuncts.iter_mut().for_each(|conjunct| conjunct.learn_from(&self.current.conjuncts));
            self.current = new;
        }
        Ok(changed)
    }

    /// The next zones are those of a part with these stored columns.
    pub fn read(&mut self, stored: &SchemaRef) -> Result<()> {
        if Arc::ptr_eq(&self.stored, stored) {
            return Ok(());
        }
        let is_same = |column: &usize| self.stored.field(*column).data_type() == stored.field(*column).data_type();
        if !self.current.columns.iter().all(is_same) {
            let CurrentFilter { conditions, columns, .. } = &self.current;
            let mut conjuncts = conjuncts(conditions, &self.physical, stored, columns, &self.switches)?;
            conjuncts.iter_mut().for_each(|conjunct| conjunct.learn_from(&self.current.conjuncts));
            self.current.conjuncts = conjuncts;
        }
        self.stored = Arc::clone(stored);
        Ok(())
    }
}

impl CurrentFilter {
    fn of(
        filter: Option<&Arc<dyn PhysicalExpr>>,
        declared: &SchemaRef,
        physical: &SchemaRef,
        stored: &SchemaRef,
        switches: &EngineSettings,
    ) -> Result<CurrentFilter> {
        let Some(filter) = filter else {
            let (conditions, conjuncts, columns) = Default::default();
            return Ok(CurrentFilter { conditions, conjuncts, columns, pruner: None, whole_zones: None, never: false });
        };
        let adapter = DefaultPhysicalExprAdapter::new(Arc::clone(declared), Arc::clone(physical));
        let mut conditions = Vec::new();
        for part in split_conjunction(&without_float_hints(filter, declared)) {
            let is_hint = part.is::<DynamicFilterPhysicalExpr>();
            let part = snapshot_physical_expr(Arc::clone(part))?;
            // Simplification moves casts from the narrow column to the literal on the other side.
            let part = PhysicalExprSimplifier::new(physical).simplify(exact_filter(adapter.rewrite(part)?, physical)?)?;
            let parts = split_conjunction(&part).into_iter().filter(|expr| !is_literal(expr, true)).cloned();
            conditions.extend(parts.map(|expr| Condition { expr, is_hint }));
        }
        let whole = conjunction(conditions.iter().map(|condition| Arc::clone(&condition.expr)));
        let pruner = if switches.zone_pruning { ZonePruner::new(&whole, physical) } else { None };
        conditions = without_weaker_hints(conditions);
        let whole_zones = if switches.zone_pruning { WholeZones::new(&conditions) } else { None };
        let never = conditions.iter().any(|condition| is_literal(&condition.expr, false));
        let mut columns: Vec<usize> =
            conditions.iter().flat_map(|condition| collect_columns(&condition.expr)).map(|column| column.index()).collect();
        columns.sort_unstable();
        columns.dedup();
        let conjuncts = conjuncts(&conditions, physical, stored, &columns, switches)?;
        Ok(CurrentFilter { conditions, conjuncts, columns, pruner, whole_zones, never })
    }

    /// Continues to the end of the zone, or of one slice of an expensive condition; returns whether the zone is done.
    pub fn advance(&self, zone: &mut ZoneTest) -> Result<bool> {
        while !zone.selection.is_none()
            && let Some(conjunct) = self.conjuncts.get(zone.conjunct)
        {
            if let Some(left) = conjunct.narrow(&zone.rows, &zone.selection, &mut zone.part)? {
                zone.selection = left;
                zone.conjunct += 1;
            }
            if conjunct.is_expensive() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn conjuncts(
    conditions: &[Condition],
    physical: &SchemaRef,
    stored: &SchemaRef,
    columns: &[usize],
    switches: &EngineSettings,
) -> Result<Vec<Conjunct>> {
    let conjuncts = conditions.iter().map(|condition| Conjunct::new(condition, physical, stored, columns, switches.integer_sets));
    let mut conjuncts = conjuncts.collect::<Result<Vec<_>>>()?;
    conjuncts.sort_by_key(|conjunct| conjunct.cost);
    Ok(conjuncts)
}

/// A zone on which the conditions are being tested in turn. It belongs to one version of the filter: a changed filter must not continue
/// with it.
#[derive(Debug)]
pub struct ZoneTest {
    /// The filter's columns.
    rows: RecordBatch,
    pub selection: Selection,
    /// The next conjunct, and its state.
    conjunct: usize,
    part: Option<PartialEvaluation>,
}

impl ZoneTest {
    /// `selection` has the rows to test: those that are not deleted.
    pub fn new(rows: RecordBatch, selection: Selection) -> ZoneTest {
        ZoneTest { rows, selection, conjunct: 0, part: None }
    }

    /// A zone of which all rows pass.
    pub fn of_whole(selection: Selection) -> ZoneTest {
        ZoneTest { rows: RecordBatch::new_empty(Arc::new(Schema::empty())), selection, conjunct: usize::MAX, part: None }
    }

    /// Whether the filter's columns have been read.
    pub fn has_read_columns(&self) -> bool {
        self.rows.num_columns() > 0
    }
}

/// Leaves out what joins say of keys of which there is a set, which is tested in less time. Zones were pruned by all.
fn without_weaker_hints(conditions: Vec<Condition>) -> Vec<Condition> {
    let sets = conditions.iter().filter_map(|condition| condition.expr.downcast_ref::<KeySetTest>());
    let sets: Vec<(Column, Arc<IntegerSet>)> =
        sets.filter_map(|test| Some((test.column().downcast_ref::<Column>()?.clone(), Arc::clone(test.set())))).collect();
    let is_weaker = |expr: &Arc<dyn PhysicalExpr>| {
        let used = collect_columns(expr);
        let has_set = |column: &Column| sets.iter().any(|(other, _)| other == column);
        if expr.is::<HashTableLookupExpr>() {
            return used.iter().all(has_set);
        }
        let Some(column) = used.iter().next().filter(|_| used.len() == 1) else { return false };
        let of_column = sets.iter().filter(|(other, _)| other == column);
        (expr.is::<InListExpr>() && has_set(column)) || of_column.into_iter().any(|(_, set)| set.satisfies(expr))
    };
    conditions.into_iter().filter(|condition| !(condition.is_hint && is_weaker(&condition.expr))).collect()
}

/// The filter from a join compares keys by their bits, so -0.0 differs from 0.0, but not in the join itself
/// (sqllogictests/slt/prune_floats.slt joins on both). The filter is only a hint, so it is dropped for floats.
fn without_float_hints(filter: &Arc<dyn PhysicalExpr>, declared: &SchemaRef) -> Arc<dyn PhysicalExpr> {
    let conjuncts =
        split_conjunction(filter).into_iter().filter(|expr| !(expr.is::<DynamicFilterPhysicalExpr>() && compares_floats(expr, declared)));
    let conjuncts: Vec<Arc<dyn PhysicalExpr>> = conjuncts.cloned().collect();
    if conjuncts.is_empty() { lit(true) } else { conjunction(conjuncts) }
}

/// Whether a float occurs in the filter, as a column or as the type of a cast.
fn compares_floats(filter: &Arc<dyn PhysicalExpr>, declared: &SchemaRef) -> bool {
    let mut has_floats = false;
    // Only the closure could fail.
    let _ = filter.apply(|node| {
        has_floats |= node.data_type(declared).is_ok_and(|data_type| has_float(&data_type));
        Ok(TreeNodeRecursion::Continue)
    });
    has_floats
}

fn has_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_float(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            has_float(field.data_type())
        }
        _ => false,
    }
}

fn is_literal(expr: &Arc<dyn PhysicalExpr>, truth: bool) -> bool {
    let Some(literal) = expr.downcast_ref::<Literal>() else { return false };
    match literal.value() {
        ScalarValue::Boolean(Some(value)) => *value == truth,
        value => !truth && value.is_null(),
    }
}
