//! Whether the number of rows of a plan may grow by pushing it down.

use datafusion::common::JoinType;
use datafusion::logical_expr::{FetchType, Join, LogicalPlan};

/// Whether a plan may have more rows than its tables together.
pub fn may_multiply(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => may_multiply(&projection.input),
        LogicalPlan::Filter(filter) => may_multiply(&filter.input),
        LogicalPlan::SubqueryAlias(alias) => may_multiply(&alias.input),
        LogicalPlan::Window(window) => may_multiply(&window.input),
        LogicalPlan::Sort(sort) => sort.fetch.is_none() && may_multiply(&sort.input),
        LogicalPlan::Limit(limit) => {
            let is_bounded = matches!(limit.get_fetch_type(), Ok(FetchType::Literal(Some(_))));
            !is_bounded && may_multiply(&limit.input)
        }
        LogicalPlan::Union(union) => union.inputs.iter().any(|input| may_multiply(input)),
        LogicalPlan::Join(join) => joins_many(join),
        _ => false,
    }
}

fn joins_many(join: &Join) -> bool {
    let (left, right) = (&join.left, &join.right);
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => may_multiply(left),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => may_multiply(right),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
            let is_one = |side: &LogicalPlan| side.max_rows().is_some_and(|rows| rows <= 1);
            let has_key = !join.on.is_empty() || is_one(left) || is_one(right);
            !has_key || may_multiply(left) || may_multiply(right)
        }
    }
}
