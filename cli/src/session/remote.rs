//! A server, over the network.

use std::pin::Pin;
use std::task::{Context, Poll};

use engine::{Binding, Bytes, QueryReport, RecordBatch, SchemaRef, StatementKind, TableListing};
use flight_client::{ConnectOptions, RemoteError, RemoteOutput};
use futures::future::{BoxFuture, FutureExt};
use futures::{Stream, StreamExt};
use tokio::runtime::Handle;

use super::{Copying, Outcome, Output, Session, ingest};
use crate::copy_command::{CopyCommand, Direction};
use crate::errors::{CliError, Result, StatementError, warn};
use crate::lexer::{self, Kind};

pub struct RemoteSession(flight_client::RemoteSession);

impl RemoteSession {
    pub fn connect(runtime: &Handle, options: ConnectOptions) -> Result<RemoteSession> {
        let connected = runtime.block_on(flight_client::RemoteSession::connect(options));
        connected.map(RemoteSession).map_err(|error| StatementError::from(error).into())
    }

    /// For an error of the user's statement, not of an internal query.
    fn tell(&self) {
        if let Some(notice) = self.0.take_notice() {
            warn(notice);
        }
    }
}

impl Session for RemoteSession {
    fn execute<'a>(&'a self, sql: &'a str) -> Outcome<'a, Box<dyn Output>> {
        async move {
            let output = self.0.execute(sql).await.map_err(|error| explained(error, sql))?;
            self.tell();
            Ok(Box::new(RemoteBatches(output)) as Box<dyn Output>)
        }
        .boxed()
    }

    fn run_plan<'a>(&'a self, plan: &'a [u8]) -> Outcome<'a, Box<dyn Output>> {
        async move {
            let output = self.0.run_plan(plan.to_vec(), &Binding::default()).await?;
            self.tell();
            Ok(Box::new(RemoteBatches(output)) as Box<dyn Output>)
        }
        .boxed()
    }

    fn plan_of<'a>(&'a self, sql: &'a str) -> Outcome<'a, Vec<u8>> {
        async move { Ok(self.0.plan_of(sql).await?.to_vec()) }.boxed()
    }

    fn progress(&self) -> BoxFuture<'_, Option<QueryReport>> {
        self.0.progress().boxed()
    }

    fn tables(&self) -> Outcome<'_, Vec<TableListing>> {
        self.0.tables().map(plain).boxed()
    }

    fn system_tables(&self) -> Outcome<'_, Vec<TableListing>> {
        self.0.system_tables().map(plain).boxed()
    }

    fn schema_names(&self) -> Outcome<'_, Vec<String>> {
        self.0.schema_names().map(plain).boxed()
    }

    fn function_names(&self) -> Outcome<'_, Vec<String>> {
        self.0.function_names().map(plain).boxed()
    }

    fn column_names<'a>(&'a self, table: &'a str) -> Outcome<'a, Vec<String>> {
        self.0.column_names(table).map(plain).boxed()
    }

    fn all_column_names(&self) -> Outcome<'_, Vec<String>> {
        self.0.all_column_names().map(plain).boxed()
    }

    fn title(&self) -> Outcome<'_, String> {
        async {
            let version = self.0.server_version().await?;
            let who = self.0.options().user().map_or_else(String::new, |user| format!(" as {user}"));
            Ok(format!("connected to {}{who} (quiver {version})", self.0.options().address))
        }
        .boxed()
    }

    fn facts(&self) -> Outcome<'_, Vec<(&'static str, String)>> {
        async {
            let tables = self.0.tables().await?;
            let size_bytes = tables.iter().filter_map(|table| table.size_bytes).sum();
            let tables = tables.iter().filter(|table| table.kind == "table").count();
            let mut facts = vec![("server", self.0.options().address.to_string())];
            facts.extend(self.0.options().user().map(|user| ("user", user.to_string())));
            facts.extend([
                ("size", Bytes(size_bytes).to_string()),
                ("tables", tables.to_string()),
                ("version", format!("quiver {}, here {}", self.0.server_version().await?, env!("CARGO_PKG_VERSION"))),
            ]);
            Ok(facts)
        }
        .boxed()
    }

    fn is_at_hand(&self) -> bool {
        self.0.is_connected()
    }

    fn has_files_here(&self) -> bool {
        false
    }

    fn copy<'a>(&'a self, copy: &'a CopyCommand, path: &'a str) -> Result<Copying<'a>> {
        if !copy.options.is_empty() {
            return Err(CliError::with_hint(
                "\\copy has no options on a server",
                "the suffix of the file decides the format; quiver import --connect URI has options",
            ));
        }
        Ok(match copy.direction {
            Direction::From => {
                let table = copy.table().map_err(CliError::message)?;
                Copying::Ingest(ingest::append(&self.0, table, path).boxed_local())
            }
            Direction::To => Copying::Query(copy.query()),
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close().boxed()
    }
}

fn plain<T>(result: std::result::Result<T, RemoteError>) -> std::result::Result<T, StatementError> {
    result.map_err(StatementError::from)
}

/// A statement that names a file may mean one of the client's machine.
fn explained(error: RemoteError, sql: &str) -> StatementError {
    let mut error = StatementError::from(error);
    if error.hint.is_none() && names_files(sql) {
        error.hint = Some(
            "files that a statement names are the server's; quiver import and quiver export, with --connect, read and write those of this machine".to_string(),
        );
    }
    error
}

fn names_files(sql: &str) -> bool {
    let tokens = lexer::tokens(sql);
    let words = tokens.iter().filter(|token| token.kind == Kind::Word).map(|token| sql[token.start..token.end].to_ascii_uppercase());
    let words: Vec<String> = words.take(3).collect();
    match words.first().map(String::as_str) {
        Some("COPY" | "BACKUP") => true,
        Some("CREATE") => words.iter().any(|word| word == "EXTERNAL"),
        _ => false,
    }
}

struct RemoteBatches(RemoteOutput);

impl Output for RemoteBatches {
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

impl Stream for RemoteBatches {
    type Item = std::result::Result<RecordBatch, StatementError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context).map(|next| next.map(plain))
    }
}
