//! Pushes the largest possible parts of a plan down to a node.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, Sort, TableScan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use engine::{Order, Pushdown, UserTable, order_of};

use super::fragment::Fragment;
use super::node::Node;
use super::on_node::on_node;
use super::row_growth::may_multiply;
use super::table::RemoteTable;
use super::write::encode_fragment;
use crate::refusal::Refusal;

/// Must be the last rule: the parts that it moves have been optimized, and its result stays as it is.
#[derive(Debug, Default)]
pub struct PushdownRule;

impl OptimizerRule for PushdownRule {
    fn name(&self) -> &str {
        "run_on_node"
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let shipment = push_down(plan)?;
        for refusal in &shipment.refusals {
            tracing::debug!(%refusal, "a part of the plan stays here");
        }
        Ok(Transformed::new_transformed(shipment.plan, shipment.fragments > 0))
    }
}

/// A plan whose parts run on nodes.
#[derive(Debug)]
pub struct PushedPlan {
    pub plan: LogicalPlan,
    /// The number of parts.
    pub fragments: usize,
    /// Why larger parts were not moved.
    pub refusals: Vec<Refusal>,
}

impl PushedPlan {
    /// Whether nothing remains here but reading the rows and arranging columns and names. Only the conformance suite uses it, to count
    /// such queries.
    pub fn is_whole(&self) -> bool {
        is_settled(&self.plan) && matches!(plan_owner(&self.plan), Ok(PlanOwner::Node(_)))
    }
}

/// Replaces the largest parts of the plan that read tables of one node at [`Pushdown::Full`] and can be written as a Substrait plan. The
/// node runs these; everything else stays.
pub fn push_down(plan: LogicalPlan) -> Result<PushedPlan> {
    let mut shipping = PushdownRewriter::default();
    let plan = match plan_owner(&plan)? {
        PlanOwner::Nobody => plan,
        _ => shipping.shipped(plan)?.data,
    };
    Ok(PushedPlan { plan, fragments: shipping.fragments, refusals: shipping.refusals })
}

#[derive(Default)]
struct PushdownRewriter {
    fragments: usize,
    refusals: Vec<Refusal>,
}

impl PushdownRewriter {
    fn shipped(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if is_part(&plan)
            && !is_settled(&plan)
            && let PlanOwner::Node(node) = plan_owner(&plan)?
            && let Some(scan) = self.moved(&plan, node)?
        {
            return Ok(Transformed::yes(scan));
        }
        let plan = plan.map_uncorrelated_subqueries(|subquery| self.shipped(subquery))?;
        plan.transform_data(|plan| plan.map_children(|input| self.shipped(input)))
    }

    /// `None` if it stays here; then smaller parts of it are tried.
    fn moved(&mut self, plan: &LogicalPlan, node: Arc<dyn Node>) -> Result<Option<LogicalPlan>> {
        if may_multiply(plan) {
            let why = "it may have more rows than both tables together, and those are fetched instead";
            self.refusals.push(Refusal { what: "a join without an equality".into(), why: why.into() });
            return Ok(None);
        }
        let order = match order_of(plan) {
            Order::Free => Vec::new(),
            Order::By(keys) => keys,
            // The order is by an expression that the plan does not return.
            Order::Lost => return Ok(None),
        };
        let there = on_node(plan)?;
        let shipped = match encode_fragment(&there, &languages_of(&there)?) {
            Ok(shipped) => shipped,
            Err(refusal) => {
                self.refusals.push(refusal);
                return Ok(None);
            }
        };
        let scan = Fragment::new(node, there, shipped, &order).into_plan(self.fragments)?;
        self.fragments += 1;
        // The rows arrive in this order, and the sort is removed where that is visible. Without the sort the plan would not show that the
        // order is required, and operators above might mix the rows.
        Ok(Some(match order.is_empty() {
            true => scan,
            false => LogicalPlan::Sort(Sort { expr: order, input: Arc::new(scan), fetch: None }),
        }))
    }
}

/// The languages of the functions that the node takes.
fn languages_of(plan: &LogicalPlan) -> Result<Arc<[String]>> {
    let mut languages = Arc::default();
    plan.apply_with_subqueries(|part| {
        if let LogicalPlan::TableScan(scan) = part
            && let Some(table) = source_as_provider(&scan.source)?.downcast_ref::<RemoteTable>()
        {
            languages = Arc::clone(table.languages());
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(languages)
}

/// Which node owns the tables that a plan reads.
enum PlanOwner {
    /// No table of a node.
    Nobody,
    /// Only tables of one node.
    Node(Arc<dyn Node>),
    Several,
}

fn plan_owner(plan: &LogicalPlan) -> Result<PlanOwner> {
    let (mut first_node, mut others) = (None::<Arc<dyn Node>>, false);
    plan.apply_with_subqueries(|part| {
        if let LogicalPlan::TableScan(scan) = part {
            match (node_of(scan), first_node.take()) {
                (Some(node), None) => first_node = Some(node),
                (node, previous) => {
                    others |= !matches!((&node, &previous), (Some(node), Some(previous)) if Arc::ptr_eq(node, previous));
                    first_node = previous;
                }
            }
        }
        Ok(if others && first_node.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(match (first_node, others) {
        (None, _) => PlanOwner::Nobody,
        (Some(node), false) => PlanOwner::Node(node),
        (Some(_), true) => PlanOwner::Several,
    })
}

/// The node of a table, if everything may be pushed down to it.
fn node_of(scan: &TableScan) -> Option<Arc<dyn Node>> {
    let provider = source_as_provider(&scan.source).ok()?;
    if let Some(table) = provider.downcast_ref::<RemoteTable>() {
        return (table.level() == Pushdown::Full).then(|| Arc::clone(table.node()));
    }
    provider.downcast_ref::<Fragment>().map(|fragment| Arc::clone(fragment.node()))
}

/// Operators that can be the root of a pushed plan. The producer decides whether it can be written.
fn is_part(plan: &LogicalPlan) -> bool {
    matches!(
        plan,
        LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::Distinct(_)
    ) || matches!(plan, LogicalPlan::Extension(Extension { node }) if node.as_any().is::<UserTable>())
}

/// Whether pushing it down would gain nothing: a scan already pushes down its filters, columns and limit.
fn is_settled(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::Projection(projection) => projection.expr.iter().all(is_column) && is_settled(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_settled(&alias.input),
        LogicalPlan::Sort(sort) => is_read_there(&sort.input),
        _ => false,
    }
}

fn is_read_there(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => {
            source_as_provider(&scan.source).is_ok_and(|provider| provider.downcast_ref::<Fragment>().is_some())
        }
        LogicalPlan::Projection(projection) => projection.expr.iter().all(is_column) && is_read_there(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_read_there(&alias.input),
        LogicalPlan::Sort(sort) => is_read_there(&sort.input),
        _ => false,
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(alias) => is_column(&alias.expr),
        _ => false,
    }
}
