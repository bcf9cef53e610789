//! Statements: splitting a script, refusing what is not supported, running what is not a query.

mod copy;
mod create_table;
mod ddl;
mod locate;
mod parse;
mod settings;
mod show;
mod split;

pub(crate) use copy::copy_from;
pub(crate) use create_table::{create_table, key_of, sorted};
pub(crate) use ddl::run_ddl;
pub(crate) use locate::{locate, place_of};
pub(crate) use parse::{Parsed, parse};
pub(crate) use settings::set_variable;
pub(crate) use show::query_for as show_query;
pub use split::StatementText;
pub(crate) use split::split_statements;
