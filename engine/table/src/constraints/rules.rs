//! The rules that one statement enforces on a table.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::execution::memory_pool::MemoryPool;
use pmem_store::{ColumnInfo, TableSnapshot};

use super::check::Check;
use super::constraint::{Constraint, Rule, constraints_of, places};
use super::context::RuleContext;
use super::key::{Key, signature};
use super::key_filters::KeyFilters;
use common::error::EngineError;

#[derive(Debug, Clone)]
pub struct TableRules {
    pub table: String,
    pub declared: SchemaRef,
    pub checks: Vec<Check>,
    pub keys: Vec<Key>,
    pub filters: Arc<KeyFilters>,
    pub pool: Arc<dyn MemoryPool>,
}

impl TableRules {
    /// For an existing table.
    pub fn of(context: &RuleContext, table: &TableSnapshot) -> Result<Arc<TableRules>, EngineError> {
        let constraints = constraints_of(table.record())?;
        TableRules::new(context, &table.record().name, table.schema(), table.columns(), &constraints)
    }

    /// For a table with these columns.
    pub fn new(
        context: &RuleContext,
        table: &str,
        declared: &SchemaRef,
        columns: &[ColumnInfo],
        constraints: &[Constraint],
    ) -> Result<Arc<TableRules>, EngineError> {
        let mut rules = TableRules {
            table: table.to_string(),
            declared: Arc::clone(declared),
            checks: Vec::new(),
            keys: Vec::new(),
            filters: Arc::clone(&context.key_filters),
            pool: Arc::clone(context.memory_pool()),
        };
        for constraint in constraints {
            let lost = || EngineError::internal(format!("constraint \"{}\" is about columns that are gone", constraint.name));
            match &constraint.rule {
                Rule::Check { sql, .. } => rules.checks.push(Check::new(context, &constraint.name, sql, declared)?),
                Rule::PrimaryKey { columns: ids } | Rule::Unique { columns: ids } => {
                    let columns = places(ids, columns).ok_or_else(lost)?;
                    rules.keys.push(Key {
                        constraint: constraint.name.clone(),
                        kind: if constraint.is_primary_key() { "PRIMARY KEY" } else { "UNIQUE" },
                        names: columns.iter().map(|column| declared.field(*column).name().clone()).collect(),
                        signature: signature(declared, &columns, ids),
                        columns,
                    });
                }
            }
        }
        Ok(Arc::new(rules))
    }
}
