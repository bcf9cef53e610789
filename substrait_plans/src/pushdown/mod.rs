//! The client's side: tables of other nodes, and the parts of plans that run there.
//!
//! - `node` — what a node is to its clients; `table_cache` one whose answers about tables are kept for a moment
//! - `table` — a table there, which moves filters and the choice of columns; `rule` moves what stands above a scan as well,
//!   `order` says when it may
//! - `fragment` — a part of a plan that runs there; `on_node` puts a plan into the words of the node, `write` into bytes
//! - `exec` — the operator that reads from a node; `remote_stream` the rows as they come, `metrics` what is counted of them
//! - `nodes` — all this for an engine; `ffi` for DataFusion in another library
//!
//! **Invariant:** what comes from a node is what the plan here would have computed of the same rows: what the producer refuses stays here, the order
//! of rows is kept where one was asked for, and no value is taken in a type that it is not of.

mod exec;
mod ffi;
mod fragment;
mod metrics;
mod node;
mod nodes;
mod on_node;
mod order;
mod remote_stream;
mod rule;
mod table;
mod table_cache;
mod write;

pub use engine::Pushdown;
pub use ffi::{ForeignTable, foreign_table};
pub use node::{Node, NodeError, NodeReport, NodeRows, NodeTable};
pub use nodes::{Network, TableLocation, remote_tables};
pub use rule::{PushdownRule, PushedPlan, push_down};
pub use table::RemoteTable;
pub use table_cache::CachedNode;
