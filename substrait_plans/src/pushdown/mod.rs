//! The client side: tables of other nodes, and the parts of plans that run there.
//!
//! - `node` — the interface of a node; `table_cache` caches its answers about tables for a moment
//! - `table` — a remote table, which pushes down filters and projections; `rule` also pushes down operators above a scan, and `row_growth` says
//!   when its result may be larger than its tables
//! - `fragment` — a part of a plan that runs on a node; `on_node` rewrites a plan to the node's names, `write` encodes it
//! - `exec` — the operator that reads from a node; `remote_stream` reads the rows, `metrics` counts them
//! - `nodes` — integrates all this into an engine; `ffi` into DataFusion in another library
//!
//! **Invariant:** what a node returns is what the plan here would have computed of the same rows. What the producer refuses stays here, a
//! requested order of rows is kept, and a value is never read as a different type.

mod exec;
mod ffi;
mod fragment;
mod metrics;
mod node;
mod nodes;
mod on_node;
mod remote_stream;
mod row_growth;
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
