//! Decides which statements are slow to plan. Moving to another thread costs some microseconds, so small ones stay on their thread.

use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectNamePart, Select, SelectItem, Visitor};
use pmem_store::{DEFAULT_NAMESPACE, Snapshot};
use sql::walk::walk_statement;

/// A longer text takes some milliseconds to plan.
const LONG_BYTES: usize = 2 << 10;
/// The total number of columns of a plan's operators, which also takes some milliseconds.
const MANY_COLUMNS: usize = 2_000;
/// The total number of nodes in its expressions, which also takes some milliseconds.
const MANY_PARTS: usize = 500;

pub fn is_long(sql: &str) -> bool {
    sql.len() > LONG_BYTES
}

/// Whether the operators of a plan have very many columns, or its expressions very many nodes, perhaps from a view.
pub fn is_large(plan: &LogicalPlan) -> bool {
    let (mut columns, mut parts) = (0, 0);
    let walked = plan.apply_with_subqueries(|node| {
        columns += node.schema().fields().len();
        if columns > MANY_COLUMNS {
            return Ok(TreeNodeRecursion::Stop);
        }
        node.apply_expressions(|expr| {
            expr.apply(|_| {
                parts += 1;
                Ok(if parts > MANY_PARTS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    });
    walked.is_err() || columns > MANY_COLUMNS || parts > MANY_PARTS
}

/// Whether a statement has a `*` and names a very wide stored table.
pub fn stands_for_many(statement: &Statement, snapshot: &Snapshot) -> bool {
    let mut stars = WildcardFinder::default();
    let _ = walk_statement(statement, &mut stars);
    stars.has_some && stars.tables.iter().any(|name| is_wide(name, snapshot))
}

fn is_wide(name: &ObjectName, snapshot: &Snapshot) -> bool {
    let mut parts = name.0.iter().rev().filter_map(ObjectNamePart::as_ident).map(|part| part.value.as_str());
    let Some(table) = parts.next() else { return false };
    let namespace = parts.next().unwrap_or(DEFAULT_NAMESPACE);
    // Tries the name as written and in lower case, which covers most names.
    let stored_table = [(namespace, table), (namespace.to_lowercase().as_str(), table.to_lowercase().as_str())]
        .into_iter()
        .find_map(|(namespace, table)| snapshot.table(namespace, table).ok().flatten());
    stored_table.is_some_and(|table| table.schema().fields().len() > MANY_COLUMNS)
}

#[derive(Default)]
struct WildcardFinder {
    has_some: bool,
    tables: Vec<ObjectName>,
}

impl Visitor for WildcardFinder {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.has_some |= select.projection.iter().any(is_star);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        // The FROM of a SELECT is visited after its `*`.
        if self.has_some {
            self.tables.push(name.clone());
        }
        ControlFlow::Continue(())
    }
}
