//! Groups of subplans that can be run as one, and which of them are worth it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use common::cancellable_rules::check_cancelled;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{Column, Result, internal_err};
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan};
use datafusion::optimizer::OptimizerConfig;
use datafusion::optimizer::optimize_projections::OptimizeProjections;

use super::key_shares::key_shares;
use super::merge::{merged, with_columns_of};
use super::node::SubplanScan;
use super::shape::{Shape, shapes};
use crate::optimizer::corrected;

/// Subplans run apart unless that takes so many times the work of one: its rows are stored, and given to each reader.
const WORK_APART_MIN: f64 = 1.3;

/// The hashes of subplans of which there are several, the largest subplans first.
fn repeated_hashes(shapes: &[Vec<Shape>]) -> Vec<u64> {
    let mut counts: HashMap<u64, (usize, usize)> = HashMap::new();
    for shape in shapes.iter().flatten().filter(|shape| shape.may_be_stored && !shape.is_repeated) {
        if let Some(hash) = shape.hash {
            counts.entry(hash).or_insert((0, shape.nodes)).0 += 1;
        }
    }
    let mut hashes: Vec<(u64, usize)> =
        counts.into_iter().filter(|(_, (count, _))| *count > 1).map(|(hash, (_, nodes))| (hash, nodes)).collect();
    hashes.sort_unstable_by_key(|(hash, nodes)| (Reverse(*nodes), *hash));
    hashes.into_iter().map(|(hash, _)| hash).collect()
}

/// The index of its plan, its position there, and its number of nodes.
type Occurrence = (usize, usize, usize);

/// Subplans that can be run as one.
pub struct Group {
    /// With the columns of all, and maybe others.
    merged: LogicalPlan,
    occurrences: Vec<Occurrence>,
    /// What running them apart takes, where running one of them for all readers takes 1.
    work_apart: f64,
    columns: Vec<Column>,
}

impl Group {
    /// The largest subplans that are worth being run as one.
    pub fn largest(plans: &[LogicalPlan], config: &dyn OptimizerConfig) -> Result<Option<Group>> {
        let shapes = plans.iter().map(shapes).collect::<Result<Vec<_>>>()?;
        let hashes = repeated_hashes(&shapes);
        if hashes.is_empty() {
            return Ok(None);
        }
        let key_shares = plans.iter().map(key_shares).collect::<Result<Vec<_>>>()?;
        for hash in hashes {
            check_cancelled(&config.options())?;
            let group = Group::of(plans, &shapes, &key_shares, hash)?;
            if group.as_ref().is_some_and(|group| group.work_apart >= WORK_APART_MIN) {
                return Ok(group);
            }
        }
        Ok(None)
    }

    fn of(plans: &[LogicalPlan], shapes: &[Vec<Shape>], key_shares: &[Vec<f64>], hash: u64) -> Result<Option<Group>> {
        let mut group: Option<Group> = None;
        for (index, plan) in plans.iter().enumerate() {
            let mut position = 0;
            plan.apply_with_subqueries(|node| {
                let shape = &shapes[index][position];
                if shape.may_be_stored && shape.hash == Some(hash) {
                    let occurrence = (index, position, shape.nodes);
                    let work = if shape.is_repeated { 0.0 } else { key_shares[index][position] };
                    match &mut group {
                        Some(group) => group.add(occurrence, work, node),
                        none => *none = Some(Group::new(occurrence, work, node)),
                    }
                }
                position += 1;
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(group)
    }

    fn new(occurrence: Occurrence, work: f64, node: &LogicalPlan) -> Group {
        Group { merged: node.clone(), occurrences: vec![occurrence], work_apart: work, columns: node.schema().columns() }
    }

    fn add(&mut self, occurrence: Occurrence, work: f64, node: &LogicalPlan) {
        // An error says that two columns have one name where all are made.
        let Ok(Some(merged)) = merged(&self.merged, node) else { return };
        let mut columns = self.columns.clone();
        columns.extend(node.schema().columns().into_iter().filter(|column| !self.columns.contains(column)));
        if columns.iter().all(|column| merged.schema().has_column(column)) {
            self.occurrences.push(occurrence);
            self.work_apart += work;
            (self.merged, self.columns) = (merged, columns);
        }
    }

    /// The plan that is run, with no more columns than are needed.
    pub fn subplan(&self, config: &dyn OptimizerConfig) -> Result<LogicalPlan> {
        let columns = self.columns.iter().cloned().map(Expr::Column).collect();
        let plan = Projection::try_new(columns, Arc::new(self.merged.clone()))?;
        let rule = corrected(Arc::new(OptimizeProjections::new()));
        Ok(rule.rewrite(LogicalPlan::Projection(plan), config)?.data)
    }

    /// The plan of an index, with the scan in place of the group's subplans in it.
    pub fn with_scans(&self, index: usize, plan: LogicalPlan, scan: &SubplanScan) -> Result<LogicalPlan> {
        let occurrences = self.occurrences.iter().filter(|(of, ..)| *of == index);
        let occurrences: HashMap<usize, usize> = occurrences.map(|(_, position, nodes)| (*position, *nodes)).collect();
        let mut next = 0;
        plan.transform_down_with_subqueries(|node| {
            let position = next;
            next += occurrences.get(&position).copied().unwrap_or(1);
            if !occurrences.contains_key(&position) {
                return Ok(Transformed::no(node));
            }
            if !node.schema().columns().iter().all(|column| scan.schema.has_column(column)) {
                return internal_err!("a common subplan lacks columns of {}", node.display());
            }
            let rows = LogicalPlan::Extension(Extension { node: Arc::new(scan.clone()) });
            Ok(Transformed::new(with_columns_of(&node, rows)?, true, TreeNodeRecursion::Jump))
        })
        .data()
    }
}
