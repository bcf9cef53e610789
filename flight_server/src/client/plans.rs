//! Plans of Substrait: run on the server, and made by it.

use arrow_flight::sql::{CommandStatementSubstraitPlan, SubstraitPlan};
use bytes::Bytes;
use engine::Binding;

use super::error::RemoteError;
use super::output::RemoteOutput;
use super::session::RemoteSession;
use crate::statements::{PLAN_BINDING, binding_header};

impl RemoteSession {
    /// As [`RemoteSession::execute`], of a serialized `substrait.Plan`.
    pub async fn run_plan(&self, plan: impl Into<Bytes>, binding: &Binding) -> Result<RemoteOutput, RemoteError> {
        let mut link = self.link().await?;
        if let Some(header) = binding_header(binding) {
            // Of this call: the session keeps its own.
            link.set_header(PLAN_BINDING, header);
        }
        let plan = SubstraitPlan { plan: plan.into(), version: String::new() };
        let command = CommandStatementSubstraitPlan { plan: Some(plan), transaction_id: None };
        let info = link.info(command).await.map_err(|status| self.shared.failed(link.number, &status, ""))?;
        RemoteOutput::begin(&self.shared, link, info, "")
    }

    /// The plan of a query, as the server makes it.
    pub async fn plan_of(&self, sql: &str) -> Result<Bytes, RemoteError> {
        let mut link = self.link().await?;
        let query = serde_json::json!({ "sql": sql }).to_string();
        let answer = link.act("substrait_plan", query).await;
        let (_, answers) = answer.map_err(|status| self.shared.failed(link.number, &status, sql))?;
        answers.into_iter().next().ok_or_else(|| self.shared.protocol("no plan"))
    }
}
