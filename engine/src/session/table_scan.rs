//! All columns of a wide table. In SQL that is `SELECT *`, for which each column is looked up among all of them: of 10,000 columns that takes
//! seconds, and here nothing has to be looked up.

use std::sync::Arc;

use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};

use super::Session;
use super::parameters::Description;
use crate::output::QueryOutput;
use crate::plans::{Binding, PlanContext};
use common::error::EngineError;

/// Fewer are planned as SQL in no time.
const MANY_COLUMNS: usize = 256;

impl Session {
    /// Whether a stored table is one for [`Session::scan_table`].
    pub fn has_many_columns(&self, schema: &str, table: &str) -> Result<bool, EngineError> {
        let found = self.catalog.now()?.snapshot.table(schema, table)?;
        Ok(found.is_some_and(|table| table.schema().fields().len() >= MANY_COLUMNS))
    }

    /// What `SELECT *` of a table gives, at a version of the store or as of now. `text` is what lists and the audit show of it.
    pub async fn scan_table(&self, text: &str, schema: &str, table: &str, version: Option<u64>) -> Result<QueryOutput, EngineError> {
        let names = [schema.to_string(), table.to_string()];
        let binding = Binding { version, ..Binding::default() };
        self.execute_plan_of(text, text.len(), &binding, move |context| async move { table_scan_plan(&context, &names).await }).await
    }

    /// The columns of the same; nothing runs.
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
