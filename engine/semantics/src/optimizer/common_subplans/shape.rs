//! The shapes of the subplans of a plan: equal for those that differ at most in the columns that they make.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Distinct, Expr, Extension, LogicalPlan};

use super::node::SubplanScan;
use super::scan_share::scan_share;

/// Joins are stored if they have at most this share of their tables' rows.
const JOIN_SHARE_MAX: f64 = 0.25;

/// A node of a plan, with all below it.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// `None` for a subplan that cannot be merged with another one.
    pub hash: Option<u64>,
    /// The number of its nodes, with those of subqueries in its expressions.
    pub nodes: usize,
    /// Whether it groups rows, or joins few of them.
    pub may_be_stored: bool,
    /// Whether it is in a subquery that equals an earlier one. Both are one subquery in the plan that runs.
    pub is_repeated: bool,
}

/// The shapes of the nodes, in the order of [`LogicalPlan::apply_with_subqueries`].
pub fn shapes(plan: &LogicalPlan) -> Result<Vec<Shape>> {
    let mut walk = Walk::default();
    walk.add(plan)?;
    Ok(walk.shapes)
}

#[derive(Default)]
struct Walk {
    shapes: Vec<Shape>,
    subqueries: HashSet<LogicalPlan>,
    is_repeated: bool,
    /// Whether the walk is in a subquery of an expression.
    is_in_subquery: bool,
}

/// What the shape of an operator depends on.
struct Input {
    hash: Option<u64>,
    kind: Kind,
    /// The estimated share of its tables' rows that it has.
    share: f64,
    has_subqueries: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Groups,
    Join,
    Other,
}

impl Walk {
    fn add(&mut self, plan: &LogicalPlan) -> Result<Input> {
        let position = self.shapes.len();
        self.shapes.push(Shape::default());
        let mut has_subqueries = false;
        plan.apply_subqueries(|subquery| {
            has_subqueries = true;
            let (is_repeated, is_in_subquery) = (self.is_repeated, self.is_in_subquery);
            self.is_repeated |= !self.subqueries.insert(subquery.clone());
            self.is_in_subquery = true;
            self.add(subquery)?;
            (self.is_repeated, self.is_in_subquery) = (is_repeated, is_in_subquery);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let inputs = plan.inputs().into_iter().map(|input| self.add(input)).collect::<Result<Vec<_>>>()?;
        has_subqueries |= inputs.iter().any(|input| input.has_subqueries);
        // All subqueries run before the rest of the plan. One must not wait for a subplan that waits for another one.
        let hash = if has_subqueries && self.is_in_subquery { None } else { hash(plan, &inputs)? };
        let (kind, share) = match (plan, &inputs[..]) {
            (LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_), _) => (Kind::Groups, 1.0),
            (LogicalPlan::Join(join), [left, right]) if matches!(join.join_type, JoinType::Inner | JoinType::LeftSemi) => {
                (Kind::Join, left.share * right.share)
            }
            (LogicalPlan::TableScan(scan), _) => (Kind::Other, scan_share(scan)),
            (LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::Window(_) | LogicalPlan::SubqueryAlias(_), [input]) => {
                (input.kind, input.share)
            }
            _ => (Kind::Other, 1.0),
        };
        if matches!(plan, LogicalPlan::RecursiveQuery(_)) {
            // Its terms run several times.
            self.shapes[position..].iter_mut().for_each(|shape| shape.hash = None);
        }
        // The node below a selection of columns has its hash, and stands for both. An alias is left to each reference.
        let stands = !matches!(plan, LogicalPlan::SubqueryAlias(_)) && selected_columns(plan).is_none();
        let is_small = kind == Kind::Groups || kind == Kind::Join && share <= JOIN_SHARE_MAX;
        let nodes = self.shapes.len() - position;
        self.shapes[position] = Shape { hash, nodes, may_be_stored: is_small && stands, is_repeated: self.is_repeated };
        Ok(Input { hash, kind, share, has_subqueries })
    }
}

fn hash(plan: &LogicalPlan, inputs: &[Input]) -> Result<Option<u64>> {
    let inputs: Option<Vec<u64>> = inputs.iter().map(|input| input.hash).collect();
    let Some(inputs) = inputs.filter(|_| !is_bound(plan)) else { return Ok(None) };
    if selected_columns(plan).is_some() {
        return Ok(inputs.first().copied());
    }
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(plan).hash(&mut hasher);
    inputs.hash(&mut hasher);
    match plan {
        LogicalPlan::TableScan(scan) => (&scan.table_name, &scan.filters, scan.fetch).hash(&mut hasher),
        LogicalPlan::SubqueryAlias(alias) => alias.alias.hash(&mut hasher),
        LogicalPlan::Filter(filter) => filter.predicate.hash(&mut hasher),
        LogicalPlan::Join(join) => (&join.on, &join.filter, join.join_type, join.null_equality).hash(&mut hasher),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.hash(&mut hasher),
        LogicalPlan::Window(window) => window.window_expr.hash(&mut hasher),
        LogicalPlan::Sort(sort) => (&sort.expr, sort.fetch).hash(&mut hasher),
        LogicalPlan::Limit(limit) => (&limit.skip, &limit.fetch).hash(&mut hasher),
        LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => plan.hash(&mut hasher),
        LogicalPlan::Projection(_) | LogicalPlan::Union(_) | LogicalPlan::Distinct(Distinct::All(_)) => {}
        LogicalPlan::Extension(Extension { node }) => match node.as_any().downcast_ref::<SubplanScan>() {
            Some(scan) => scan.hash(&mut hasher),
            None => return Ok(None),
        },
        _ => return Ok(None),
    }
    Ok(Some(hasher.finish()))
}

/// Whether the node may give other rows each time, or for each row of a query around it.
fn is_bound(plan: &LogicalPlan) -> bool {
    let mut is_bound = false;
    let visited = plan.apply_expressions(|expr| {
        is_bound |= expr.exists(|expr| Ok(expr.is_volatile_node() || matches!(expr, Expr::OuterReferenceColumn(..))))?;
        Ok(if is_bound { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    is_bound || visited.is_err()
}

/// The projection, if it only selects columns of its input.
pub fn selected_columns(plan: &LogicalPlan) -> Option<&Projection> {
    match plan {
        LogicalPlan::Projection(projection) if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) => Some(projection),
        _ => None,
    }
}
