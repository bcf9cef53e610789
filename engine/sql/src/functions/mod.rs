//! The statements about functions and procedures of users. The parser does not know them as they are here:
//!
//! ```text
//! CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] f (p type, …) RETURNS type [clauses] RETURN expression
//! CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] f (p type, …) RETURNS TABLE [(c type, …)] [clauses] RETURN SELECT …
//! CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] f (p type, …) RETURNS type LANGUAGE wasm [clauses] AS BLOB b [SYMBOL 'name'] [HASH '…']
//! CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] f (p type, …) RETURNS type LANGUAGE python [clauses] AS $$ source $$ [SYMBOL 'name']
//! CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] f (p type | TABLE, …) RETURNS TABLE (c type, …) LANGUAGE wasm|python AS …
//! CREATE [OR REPLACE] AGGREGATE [IF NOT EXISTS] f (p type, …) RETURNS type LANGUAGE wasm|python AS …
//! CREATE [OR REPLACE] PROCEDURE [IF NOT EXISTS] p (p type, …) BEGIN statement; … END
//! CALL p(value, …)
//! DROP FUNCTION|AGGREGATE|PROCEDURE [IF EXISTS] f [(type, …)]
//! ```
//!
//! The clauses are LANGUAGE sql, wasm or python, IMMUTABLE, STABLE, VOLATILE, STRICT and its long forms, and SECURITY INVOKER or, for a procedure,
//! SECURITY DEFINER. `AS 'SELECT …'` may stand in the
//! place of RETURN. A definition is kept as the text of its CREATE, and parsed at each use.

mod bodies;
mod body_names;
mod calls;
mod parameters;
mod parse;
mod statement;

pub use bodies::{call_query, scalar_query, signature_query, table_query};
pub use calls::{calls_in, calls_of, each_table_call_mut, has_columns, passes_on, table_calls_of};
pub use parameters::{StatementPart, with_parameters};
pub use parse::parse_functions;
pub use statement::{
    CodeReturns, CreateFunction, DropFunction, FunctionBody, FunctionDefinition, FunctionStatement, ModuleSource, Parameter, PythonCode,
    ResultColumn,
};
