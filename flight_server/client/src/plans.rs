//! Substrait plans: the server runs them, and makes them.

use arrow_flight::sql::{CommandStatementSubstraitPlan, SubstraitPlan};
use bytes::Bytes;
use engine::Binding;
use flight_wire::{PLAN_BINDING, binding_header};
use futures::FutureExt;

use crate::error::RemoteError;
use crate::output::RemoteOutput;
use crate::session::RemoteSession;

impl RemoteSession {
    /// Like [`RemoteSession::execute`], for a serialized `substrait.Plan`.
    pub async fn run_plan(&self, plan: impl Into<Bytes>, binding: &Binding) -> Result<RemoteOutput, RemoteError> {
        let header = binding_header(binding);
        let plan = SubstraitPlan { plan: plan.into(), version: String::new() };
        let command = CommandStatementSubstraitPlan { plan: Some(plan), transaction_id: None };
        let request = self.ask("", |mut link| {
            let command = command.clone();
            if let Some(header) = &header {
                // The transaction of this call. The session keeps its own.
                link.set_header(PLAN_BINDING, header.clone());
            }
            async move { link.info(command).await }.boxed()
        });
        let (link, info) = request.await?;
        RemoteOutput::begin(&self.shared, link, info, "")
    }

    /// The server's plan of a query.
    pub async fn plan_of(&self, sql: &str) -> Result<Bytes, RemoteError> {
        let query = serde_json::json!({ "sql": sql }).to_string();
        let request = self.ask(sql, |mut link| {
            let query = query.clone();
            async move { link.act("substrait_plan", query).await }.boxed()
        });
        let (_, (_, answers)) = request.await?;
        answers.into_iter().next().ok_or_else(|| self.shared.protocol("no plan"))
    }
}
