//! The table that a statement changes, and the columns of it that it names.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, TableReference, field_not_found};
use datafusion::logical_expr::Expr;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, TableFactor};

use super::operation::Operation;
use super::select::name_of;
use super::writable::not_writable;
use crate::execution::StatementContext;
use common::error::EngineError;
use common::privilege::Privilege;
use table::catalog::StoreTable;

pub struct ChangeTarget {
    /// With row ids.
    pub table: Arc<StoreTable>,
    /// The statement's name for the table.
    pub alias: String,
    lowers_names: bool,
}

impl ChangeTarget {
    /// Opens the table and checks that the statement's user has the privileges for the operation.
    pub async fn open(
        ctx: &StatementContext,
        operation: Operation,
        name: ObjectName,
        alias: Option<Ident>,
    ) -> Result<ChangeTarget, EngineError> {
        let lowers_names = ctx.state.config_options().sql_parser.enable_ident_normalization;
        let reference = object_name_to_table_reference(name, lowers_names)?;
        let provider = match ctx.state.schema_for_ref(reference.clone()) {
            Ok(schema) => schema.table(reference.table()).await.map_err(|error| ctx.located(error))?,
            Err(_) => None,
        };
        let Some(provider) = provider else {
            let missing = reference.resolve(common::names::CATALOG, pmem_store::DEFAULT_NAMESPACE);
            return Err(ctx.located(EngineError::NoTable(missing).into_datafusion()));
        };
        let Some(table) = provider.downcast_ref::<StoreTable>() else {
            return Err(not_writable(reference.table(), provider.as_ref()));
        };
        needed_by(operation).iter().try_for_each(|privilege| table.check(*privilege))?;
        let alias = alias.map_or_else(|| reference.table().to_string(), |alias| lowered(alias, lowers_names));
        Ok(ChangeTarget { table: Arc::new(table.with_row_ids()), alias, lowers_names })
    }

    /// The table of UPDATE, DELETE FROM and MERGE INTO.
    pub async fn of_factor(ctx: &StatementContext, operation: Operation, factor: TableFactor) -> Result<ChangeTarget, EngineError> {
        let statement = operation.name();
        match factor {
            TableFactor::Table { version: Some(_), .. } => {
                Err(EngineError::unsupported(format!("{statement} of an older version"), Some("the last version is the one that changes")))
            }
            TableFactor::Table { name, alias, args: None, json_path: None, .. } => {
                if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty() || alias.at.is_some()) {
                    return Err(EngineError::unsupported(
                        format!("names for the columns of the table of {statement}"),
                        Some("name the table alone"),
                    ));
                }
                ChangeTarget::open(ctx, operation, name, alias.map(|alias| alias.name)).await
            }
            _ => Err(EngineError::unsupported(format!("{statement} of what is not a table"), Some("name one table"))),
        }
    }

    /// The target's own columns, without the row id.
    pub fn schema(&self) -> &SchemaRef {
        self.table.columns()
    }

    pub fn qualifier(&self) -> TableReference {
        TableReference::bare(self.alias.as_str())
    }

    pub fn default_of(&self, column: usize) -> Option<Expr> {
        self.table.get_column_default(self.schema().field(column).name()).cloned()
    }

    /// The index of the column `name`, which may be qualified with the table's name.
    pub fn column(&self, ctx: &StatementContext, name: &ObjectName) -> Result<usize, EngineError> {
        let mut parts = Vec::with_capacity(name.0.len());
        for part in &name.0 {
            match part {
                ObjectNamePart::Identifier(ident) => parts.push(self.lowered(ident)),
                other => return Err(EngineError::unsupported(format!("the column name {other}"), None)),
            }
        }
        let (column, table) = match parts.as_slice() {
            [column] => (column, None),
            [.., table, column] => (column, Some(table)),
            [] => return Err(EngineError::internal("a column without a name")),
        };
        if let Some(table) = table.filter(|table| **table != self.alias) {
            let message = format!("\"{table}\" is not the table that is changed, which is \"{}\"", self.alias);
            let hint = "assign to columns of that table; to change a field of a struct, assign the whole struct";
            return Err(EngineError::Sql { message, position: None, hint: Some(hint.into()) });
        }
        self.schema().index_of(column).map_err(|_| {
            let schema = DFSchema::try_from(self.schema().as_ref().clone());
            match schema {
                Ok(schema) => ctx.located(field_not_found(None::<TableReference>, column, &schema)),
                Err(error) => error.into(),
            }
        })
    }

    /// An error if another table of the statement has the same name, because column names would be ambiguous.
    pub fn check_alone(&self, other: &TableFactor) -> Result<(), EngineError> {
        match name_of(other) {
            Some(name) if self.lowered(&name) == self.alias => {
                let message = format!("two tables of the statement are called \"{}\"", self.alias);
                Err(EngineError::Sql { message, position: None, hint: Some("give one of them another name with AS".into()) })
            }
            _ => Ok(()),
        }
    }

    pub fn lowered(&self, ident: &Ident) -> String {
        lowered(ident.clone(), self.lowers_names)
    }
}

/// The privileges of an operation. Statements that search rows also need SELECT, because their effect reveals what they found.
fn needed_by(operation: Operation) -> &'static [Privilege] {
    match operation {
        Operation::Delete => &[Privilege::Delete, Privilege::Select],
        Operation::Update => &[Privilege::Update, Privilege::Select],
        Operation::Truncate => &[Privilege::Truncate],
        // The other privileges depend on its clauses.
        Operation::Merge => &[Privilege::Select],
        Operation::Insert => &[Privilege::Insert, Privilege::Select],
    }
}

/// An identifier as DataFusion reads it.
fn lowered(ident: Ident, lowers_names: bool) -> String {
    match ident.quote_style {
        None if lowers_names => ident.value.to_ascii_lowercase(),
        _ => ident.value,
    }
}
