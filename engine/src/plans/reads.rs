//! Which foreign plans are accepted.

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;

use common::error::EngineError;
use table::user_tables::UserTable;

/// Only plans that read: changes are checked, counted and retried in SQL only. Every user may run a query, as `access/statement_kinds.rs`
/// says, and each table checks its privileges when it is read.
///
/// **Invariant:** a node that is not named here is refused.
pub fn check_reads(plan: &LogicalPlan) -> Result<(), EngineError> {
    let walked = plan.apply_with_subqueries(|node| match refused(node) {
        None => Ok(TreeNodeRecursion::Continue),
        Some(what) => {
            let hint = Some("a plan may only read; send a statement that changes something as SQL");
            Err(DataFusionError::from(EngineError::unsupported(format!("{what} in a plan"), hint)))
        }
    });
    Ok(walked.map(|_| ())?)
}

fn refused(node: &LogicalPlan) -> Option<String> {
    match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::TableScan(_)
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Values(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::RecursiveQuery(_) => None,
        LogicalPlan::Dml(_) => Some("writing to a table".into()),
        LogicalPlan::Ddl(_) => Some("a definition".into()),
        LogicalPlan::Copy(_) => Some("writing a file".into()),
        LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::DescribeTable(_) => Some("an explanation".into()),
        LogicalPlan::Statement(statement) => Some(format!("the statement {}", statement.name())),
        // It can only compute: `plan_function` in `table::catalog` says who may send its code.
        LogicalPlan::Extension(extension) if extension.node.as_any().is::<UserTable>() => None,
        LogicalPlan::Extension(extension) => Some(format!("the step {}", extension.node.name())),
    }
}
