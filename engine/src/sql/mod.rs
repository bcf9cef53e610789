//! Statements: splitting a script, refusing what is not supported, running what is not a query.

mod chains;
mod copy;
mod copy_options;
mod copy_to;
mod create_table;
mod ddl;
mod definition;
mod describe;
mod explain_error;
mod external;
mod locate;
mod order_clause;
mod parse;
mod quantified;
mod refuse;
mod settings;
mod show;
mod split;
mod tokens;
mod type_names;

pub(crate) use copy::copy_from;
pub(crate) use copy_to::copy_to;
pub(crate) use create_table::{create_table, key_of, sorted};
pub(crate) use ddl::run_ddl;
pub(crate) use definition::{external_definition, qualified, table_definition};
pub(crate) use describe::described;
pub(crate) use explain_error::{explained, function_names};
pub(crate) use external::create_external;
pub(crate) use order_clause::KeyColumn;
pub(crate) use parse::{Parsed, parse};
pub(crate) use settings::{reset_variable, set_variable};
pub(crate) use show::restated;
pub use split::StatementText;
pub(crate) use split::split_statements;
pub(crate) use type_names::in_sql_words;
