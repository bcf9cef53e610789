//! Functions of users that return tables, in whatever language: a call in a plan, and its operator.

mod exec;
mod function;
mod node;

pub use function::TableFunction;
pub use node::{UserTable, UserTablePlanner};
