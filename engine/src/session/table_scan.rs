//! Scans all columns of a wide table. For `SELECT *`, SQL planning looks up each column among all of them: for 10,000 columns that takes
//! seconds, and this scan needs no lookup.

use std::sync::Arc;

use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};

use super::Session;
use super::parameters::Description;
use crate::output::QueryOutput;
use crate::plans::{Binding, PlanContext};
use common::error::EngineError;

/// Tables with fewer columns are fast to plan as SQL.
const MANY_COLUMNS: usize = 256;

impl Session {
    /// Whether [`Session::scan_table`] is worthwhile for a stored table.
    pub fn has_many_columns(&self, schema: &str, table: &str) -> Result<bool, EngineError> {
        let stored_table = self.catalog.now()?.snapshot.table(schema, table)?;
        Ok(stored_table.is_some_and(|table| table.schema().fields().len() >= MANY_COLUMNS))
    }

    /// The result of `SELECT *` from a table, at a version of the store or as of now. `text` is what lists and the audit show.
    pub async fn scan_table(&self, text: &str, schema: &str, table: &str, version: Option<u64>) -> Result<QueryOutput, EngineError> {
        let names = [schema.to_string(), table.to_string()];
        let binding = Binding { version, ..Binding::default() };
        self.execute_plan_of(text, text.len(), &binding, move |context| async move { table_scan_plan(&context, &names).await }).await
    }

    /// The columns of that result; nothing runs.
    pub async fn describe_table_scan(&self, schema: &str, table: &str, version: Option<u64>) -> Result<Description, EngineError> {
        let names = [schema.to_string(), table.to_string()];
        let binding = Binding { version, ..Binding::default() };
        self.described_plan(&binding, move |context| async move { table_scan_plan(&context, &names).await }).await
    }
}

async fn table_scan_plan(context: &Arc<PlanContext>, names: &[String]) -> Result<LogicalPlan, EngineError> {
    let Some((reference, provider)) = context.table(names).await? else {
        let message = format!("table \"{}\" does not exist", names.join("."));
        return Err(EngineError::Sql { message, position: None, hint: None });
    };
    Ok(LogicalPlanBuilder::scan(reference, provider_as_source(provider), None)?.build()?)
}
