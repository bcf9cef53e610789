//! The engine of this process.

use std::pin::Pin;
use std::task::{Context, Poll};

use engine::{Binding, Bytes, Engine, EngineError, QueryOutput, QueryReport, RecordBatch, SchemaRef, StatementKind, TableListing};
use futures::future::{BoxFuture, FutureExt, ready};
use futures::{Stream, StreamExt};

use super::{Copying, Outcome, Output, Session};
use crate::copy_command::CopyCommand;
use crate::errors::{CliError, Result, StatementError};

pub struct LocalSession {
    session: engine::Session,
    engine: Engine,
    origin: StoreOrigin,
}

/// Where the store comes from, for the first line of a shell.
pub enum StoreOrigin {
    Existing,
    New,
    Temporary,
    /// A temporary one with these tables, which are made of files.
    Files(Vec<String>),
}

impl LocalSession {
    pub fn new(engine: Engine, origin: StoreOrigin) -> Result<LocalSession> {
        Ok(LocalSession { session: engine.session().map_err(CliError::engine)?, engine, origin })
    }
}

impl Session for LocalSession {
    fn execute<'a>(&'a self, sql: &'a str) -> Outcome<'a, Box<dyn Output>> {
        async move {
            let output = self.session.execute(sql).await?;
            Ok(Box::new(LocalOutput(output)) as Box<dyn Output>)
        }
        .boxed()
    }

    fn run_plan<'a>(&'a self, plan: &'a [u8]) -> Outcome<'a, Box<dyn Output>> {
        async move {
            let output = substrait_plans::run(&self.session, plan, &Binding::default()).await.map_err(EngineError::from)?;
            Ok(Box::new(LocalOutput(output)) as Box<dyn Output>)
        }
        .boxed()
    }

    fn plan_of<'a>(&'a self, sql: &'a str) -> Outcome<'a, Vec<u8>> {
        async move { Ok(substrait_plans::from_sql(&self.session, sql).await.map_err(EngineError::from)?) }.boxed()
    }

    fn progress(&self) -> BoxFuture<'_, Option<QueryReport>> {
        ready(self.session.progress()).boxed()
    }

    fn tables(&self) -> Outcome<'_, Vec<TableListing>> {
        ready(self.session.tables().map_err(StatementError::from)).boxed()
    }

    fn system_tables(&self) -> Outcome<'_, Vec<TableListing>> {
        ready(Ok(self.session.system_tables())).boxed()
    }

    fn schema_names(&self) -> Outcome<'_, Vec<String>> {
        ready(self.session.schema_names().map_err(StatementError::from)).boxed()
    }

    fn function_names(&self) -> Outcome<'_, Vec<String>> {
        ready(Ok(self.session.function_names())).boxed()
    }

    fn column_names<'a>(&'a self, table: &'a str) -> Outcome<'a, Vec<String>> {
        ready(Ok(self.session.column_names(table))).boxed()
    }

    fn all_column_names(&self) -> Outcome<'_, Vec<String>> {
        let tables = self.session.table_names();
        ready(Ok(tables.iter().flat_map(|table| self.session.column_names(table)).collect())).boxed()
    }

    fn title(&self) -> Outcome<'_, String> {
        let title = || -> std::result::Result<String, StatementError> {
            let kind = match &self.origin {
                StoreOrigin::Temporary => return Ok("a temporary store, gone when you leave (--store DIR keeps one)".to_string()),
                StoreOrigin::Files(tables) => return Ok(format!("{}, in a temporary store, gone when you leave", tables.join(", "))),
                StoreOrigin::New => "new store",
                StoreOrigin::Existing => "store",
            };
            let store = self.engine.store();
            let info = store.info().map_err(StatementError::plain)?;
            let as_of =
                if store.is_leased() { format!(" at version {}; another process writes to it", info.version) } else { String::new() };
            Ok(format!("{kind} {} ({}){as_of}", info.path.display(), info.mode))
        };
        ready(title()).boxed()
    }

    fn facts(&self) -> Outcome<'_, Vec<(&'static str, String)>> {
        let facts = self.engine.store().info().map(|info| {
            vec![
                ("store", info.path.display().to_string()),
                ("mode", info.mode.to_string()),
                ("format", info.format_version.to_string()),
                ("size", Bytes(info.size_bytes).to_string()),
                ("tables", info.tables.len().to_string()),
                ("version", format!("quiver {}", env!("CARGO_PKG_VERSION"))),
            ]
        });
        ready(facts.map_err(StatementError::plain)).boxed()
    }

    fn is_at_hand(&self) -> bool {
        true
    }

    fn has_files_here(&self) -> bool {
        true
    }

    fn copy<'a>(&'a self, copy: &'a CopyCommand, path: &'a str) -> Result<Copying<'a>> {
        Ok(Copying::Statement(copy.statement(path)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

struct LocalOutput(QueryOutput);

impl Output for LocalOutput {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn kind(&self) -> StatementKind {
        self.0.kind()
    }

    fn report(&self) -> QueryReport {
        self.0.report()
    }
}

impl Stream for LocalOutput {
    type Item = std::result::Result<RecordBatch, StatementError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context).map(|next| next.map(|batch| batch.map_err(StatementError::from)))
    }
}
