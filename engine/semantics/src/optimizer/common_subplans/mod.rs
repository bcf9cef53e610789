//! Subplans that a plan has several times are run once.
//!
//! A CTE or a view is planned anew wherever a statement names it, and people write the same subquery twice. In a finished logical plan equal
//! subplans are found by a hash of their shape ([`shape`]), the largest ones first ([`group`]). They may differ in the columns that the rest of the plan
//! needs of each, so one is made with the columns of all ([`merge`]), and the rest of the plan reads its rows ([`node`], `subplans/`).
//! Conditions were pushed down by then: subplans with different ones are different, and run apart.
//!
//! Only subplans that group rows, and joins of few rows, are stored. Other joins may have more rows than their inputs.

mod group;
mod key_shares;
mod merge;
mod node;
mod output_order;
mod scan_share;
mod shape;

pub use node::CommonSubplansPlanner;
pub use output_order::OutputOrder;

use std::collections::HashSet;
use std::sync::Arc;

use common::engine_settings::switches;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::optimizer::OptimizerConfig;

use crate::subplans::SubplanRows;
use group::Group;
use node::{CommonSubplans, Subplan, SubplanScan};

/// The plan with its common subplans run once, `None` if it has none. No rule for logical plans may come after this.
pub fn with_common_subplans(plan: &LogicalPlan, config: &dyn OptimizerConfig) -> Result<Option<LogicalPlan>> {
    if !switches(&config.options()).common_subplans || !reads_a_table_twice(plan)? {
        return Ok(None);
    }
    let plan = in_query(plan.clone(), config)?;
    Ok(plan.transformed.then_some(plan.data))
}

/// Whether it can have a common subplan. Most plans cannot, and cost no more than this.
fn reads_a_table_twice(plan: &LogicalPlan) -> Result<bool> {
    let mut tables = HashSet::new();
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            found |= !tables.insert(scan.table_name.clone());
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Below what a statement does with the rows of its query.
fn in_query(plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Explain(_)
        | LogicalPlan::Analyze(_)
        | LogicalPlan::Dml(_)
        | LogicalPlan::Copy(_)
        | LogicalPlan::Ddl(_)
        | LogicalPlan::Statement(_)
        | LogicalPlan::Extension(_) => plan.map_children(|input| in_query(input, config)),
        query => of_query(query, config),
    }
}

fn of_query(query: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let mut plans = vec![query];
    let mut subplans = Vec::new();
    while let Some(group) = Group::largest(&plans, config)? {
        let rows = Arc::new(SubplanRows::new(plans.len()));
        let subplan = group.subplan(config)?;
        let scan = SubplanScan { rows: Arc::clone(&rows), schema: Arc::clone(subplan.schema()) };
        for (index, plan) in plans.iter_mut().enumerate() {
            *plan = group.with_scans(index, std::mem::take(plan), &scan)?;
        }
        plans.push(subplan);
        subplans.push(rows);
    }
    let query = plans.remove(0);
    if subplans.is_empty() {
        return Ok(Transformed::no(query));
    }
    let subplans = plans.into_iter().zip(subplans).map(|(plan, rows)| Subplan { plan, rows }).collect();
    let node = CommonSubplans { plan: query, subplans };
    Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(node) })))
}
