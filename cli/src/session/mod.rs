//! Where statements run: in this process, or on a server. Everything above this room is the same for both.
//!
//! - [`local`] — the engine of this process; [`remote`] — a server, over the network
//! - [`login`] — where the server is and who one is there, as the command line and the environment say it

mod local;
pub mod login;
mod remote;

use engine::{QueryReport, RecordBatch, SchemaRef, StatementKind, TableListing};
use futures::Stream;
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio::runtime::Handle;

use crate::args::{ConnectArgs, StoreArgs};
use crate::errors::{Result, StatementError};
use crate::store;

pub use local::LocalSession;
pub use remote::RemoteSession;

pub type Outcome<'a, T> = BoxFuture<'a, std::result::Result<T, StatementError>>;

/// Settings, a transaction, and the statements that run in them one after the other.
pub trait Session: Send + Sync {
    /// Begins one statement; a query runs while its output is polled. Dropping the future or the output cancels it.
    fn execute<'a>(&'a self, sql: &'a str) -> Outcome<'a, Box<dyn Output>>;

    /// The same of a Substrait plan.
    fn run_plan<'a>(&'a self, plan: &'a [u8]) -> Outcome<'a, Box<dyn Output>>;
    /// The Substrait plan of a query, which does not run.
    fn plan_of<'a>(&'a self, sql: &'a str) -> Outcome<'a, Vec<u8>>;

    /// How far the statement is that runs in it, for who waits for its result; None where that is not known.
    fn progress(&self) -> BoxFuture<'_, Option<QueryReport>>;

    /// Tables and views, by schema and name.
    fn tables(&self) -> Outcome<'_, Vec<TableListing>>;
    fn system_tables(&self) -> Outcome<'_, Vec<TableListing>>;
    fn schema_names(&self) -> Outcome<'_, Vec<String>>;
    fn function_names(&self) -> Outcome<'_, Vec<String>>;
    /// Of a table as [`table_name`] calls it.
    fn column_names<'a>(&'a self, table: &'a str) -> Outcome<'a, Vec<String>>;

    /// Where one is, in the line that a shell begins with.
    fn title(&self) -> Outcome<'_, String>;
    /// The same at more length: what it is called, and what it is.
    fn facts(&self) -> Outcome<'_, Vec<(&'static str, String)>>;

    /// Whether a question can be asked in passing, as completion does: no connection has to be made for it.
    fn is_at_hand(&self) -> bool;
    /// Gives back what the other end keeps for this session.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The result of a statement on its way.
pub trait Output: Stream<Item = std::result::Result<RecordBatch, StatementError>> + Send + Unpin {
    fn schema(&self) -> SchemaRef;
    fn kind(&self) -> StatementKind;
    /// As of now; complete once the stream has ended.
    fn report(&self) -> QueryReport;
}

/// The session that the command line asks for.
pub fn open(runtime: &Handle, store: &StoreArgs, connect: &ConnectArgs) -> Result<Arc<dyn Session>> {
    match login::options(connect)? {
        Some(options) => Ok(Arc::new(RemoteSession::connect(runtime, options)?)),
        None => Ok(Arc::new(LocalSession::new(store::open(store)?, store.store.is_none())?)),
    }
}

/// The same for a subcommand that only reads, and has no use for a temporary store.
pub fn open_to_read(runtime: &Handle, store: &StoreArgs, connect: &ConnectArgs, command: &str) -> Result<Arc<dyn Session>> {
    match login::options(connect)? {
        Some(options) => Ok(Arc::new(RemoteSession::connect(runtime, options)?)),
        None => Ok(Arc::new(LocalSession::new(store::open_to_read(store, command)?, false)?)),
    }
}

/// A table as one types it: without the schema where that is `main`.
pub fn table_name(listing: &TableListing) -> String {
    match listing.schema.as_str() {
        "main" => listing.name.clone(),
        schema => format!("{schema}.{}", listing.name),
    }
}
