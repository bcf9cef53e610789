//! Sessions for statements: in this process, or on a server. Code above this module is the same for both.
//!
//! - [`local`] — the engine of this process; [`remote`] — a server, over the network
//! - [`ingest`] — files of this machine that are sent to a server
//! - [`login`] — the address of the server and the login, from the command line and the environment

pub mod ingest;
mod local;
pub mod login;
mod remote;

use engine::{QueryReport, RecordBatch, SchemaRef, StatementKind, TableListing};
use futures::Stream;
use futures::future::{BoxFuture, LocalBoxFuture};
use std::sync::Arc;
use tokio::runtime::Handle;

use crate::args::{ConnectArgs, StoreArgs};
use crate::copy_command::CopyCommand;
use crate::errors::{Result, StatementError};
use crate::store;

pub use local::{LocalSession, StoreOrigin};
pub use remote::RemoteSession;

pub type Outcome<'a, T> = BoxFuture<'a, std::result::Result<T, StatementError>>;

/// A session: settings, a transaction, and statements that run in it one after the other.
pub trait Session: Send + Sync {
    /// Starts one statement; a query runs while its output is polled. Dropping the future or the output cancels it.
    fn execute<'a>(&'a self, sql: &'a str) -> Outcome<'a, Box<dyn Output>>;

    /// The same for a Substrait plan.
    fn run_plan<'a>(&'a self, plan: &'a [u8]) -> Outcome<'a, Box<dyn Output>>;
    /// The Substrait plan of a query, without running it.
    fn plan_of<'a>(&'a self, sql: &'a str) -> Outcome<'a, Vec<u8>>;

    /// The progress of the running statement, while its result is awaited; `None` if it is unknown.
    fn progress(&self) -> BoxFuture<'_, Option<QueryReport>>;

    /// Tables and views, by schema and name.
    fn tables(&self) -> Outcome<'_, Vec<TableListing>>;
    fn system_tables(&self) -> Outcome<'_, Vec<TableListing>>;
    fn schema_names(&self) -> Outcome<'_, Vec<String>>;
    fn function_names(&self) -> Outcome<'_, Vec<String>>;
    /// The columns of a table with a name by [`table_name`].
    fn column_names<'a>(&'a self, table: &'a str) -> Outcome<'a, Vec<String>>;
    /// The columns of all tables.
    fn all_column_names(&self) -> Outcome<'_, Vec<String>>;

    /// The store or the server, for the first line of a shell.
    fn title(&self) -> Outcome<'_, String>;
    /// The same with more details, as names and values.
    fn facts(&self) -> Outcome<'_, Vec<(&'static str, String)>>;

    /// Whether a query such as one for completion is possible without connecting first.
    fn is_at_hand(&self) -> bool;
    /// Whether the files that a statement names are those of this machine.
    fn has_files_here(&self) -> bool;
    /// How to copy between a table and a file of this machine.
    fn copy<'a>(&'a self, copy: &'a CopyCommand, path: &'a str) -> Result<Copying<'a>>;
    /// Ends the session, so that the server releases its state.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// What copies between a table and a file of this machine.
pub enum Copying<'a> {
    Statement(String),
    /// A query, whose rows go to the file.
    Query(String),
    /// The rows of the file are sent, and counted.
    Ingest(LocalBoxFuture<'a, Result<u64>>),
}

/// The streaming result of a statement.
pub trait Output: Stream<Item = std::result::Result<RecordBatch, StatementError>> + Send + Unpin {
    fn schema(&self) -> SchemaRef;
    fn kind(&self) -> StatementKind;
    /// The current report. It is final once the stream has ended.
    fn report(&self) -> QueryReport;
}

/// Opens the session that the command line selects.
pub fn open(runtime: &Handle, store: &StoreArgs, connect: &ConnectArgs) -> Result<Arc<dyn Session>> {
    match login::options(connect)? {
        Some(options) => Ok(Arc::new(RemoteSession::connect(runtime, options)?)),
        None => {
            let origin = match (&store.store, store::is_new(store)) {
                (None, _) => StoreOrigin::Temporary,
                (Some(_), true) => StoreOrigin::New,
                (Some(_), false) => StoreOrigin::Existing,
            };
            Ok(Arc::new(LocalSession::new(store::open(store)?, origin)?))
        }
    }
}

/// The same for a subcommand that only reads, and does not work on a temporary store.
pub fn open_to_read(runtime: &Handle, store: &StoreArgs, connect: &ConnectArgs, command: &str) -> Result<Arc<dyn Session>> {
    match login::options(connect)? {
        Some(options) => Ok(Arc::new(RemoteSession::connect(runtime, options)?)),
        None => Ok(Arc::new(LocalSession::new(store::open_to_read(store, command)?, StoreOrigin::Existing)?)),
    }
}

/// The name of a table as users type it: without the schema `main`.
pub fn table_name(listing: &TableListing) -> String {
    match listing.schema.as_str() {
        "main" => listing.name.clone(),
        schema => format!("{schema}.{}", listing.name),
    }
}
