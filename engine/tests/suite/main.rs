//! The tests of the engine, as one binary: linking several costs more than running them.

mod cancel;
mod copy;
mod ddl;
mod errors;
mod export;
mod external;
mod fault;
mod filters;
mod helpers;
mod huge_sql;
mod import;
mod insert;
mod isolation;
mod memory;
mod oracle;
mod plans;
mod pruning;
mod report;
mod scan;
mod semantics;
mod sharing;
mod sql_surface;
mod statistics;
mod views;
