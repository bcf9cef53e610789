//! Rules for the rows of a table, and the values of columns that a statement omits.
//!
//! The way of a constraint through these modules:
//!
//! 1. `declare` reads it from CREATE TABLE or ALTER TABLE, or refuses it;
//! 2. `constraint` is what the catalog stores: columns by id, so that renaming one changes nothing;
//! 3. [`TableRules`] is what one statement enforces, its CHECKs planned by `expression`;
//! 4. [`Enforcer`] sees every batch before it is written and, at the end, the transaction they go to;
//! 5. `concurrent_rows` finds the rows that other transactions have added, which the commit checks;
//! 6. `existing` checks the existing rows before a constraint is added.
//!
//! `context` holds what planning and searching need. `shapes` checks tensors against the shape of their column.
//!
//! Uniqueness is enforced without an index. `new_keys` collects a hash for each written row; `search` asks each part of the table whether
//! it may contain one of them: first by the bounds of its zones (`zone_bounds`), then by a Bloom filter (`bloom`, `key_filters`), for
//! rows in a log by the set of their keys (`tail_keys`). Then it reads the zones that are left; `exact` compares the keys themselves if
//! two hashes are equal.
//!
//! **Invariants.** No row gets into a table except through an [`Enforcer`]. A filter or bound may report a key that is not there, but
//! never miss one that is. Concurrent commits are checked under the commit lock.

mod bloom;
mod check;
mod concurrent_rows;
mod constraint;
mod context;
mod declare;
mod defaults;
mod enforcer;
mod exact;
mod existing;
mod expression;
mod key;
mod key_filters;
mod new_keys;
mod reading;
mod rules;
mod search;
mod shapes;
mod tail_keys;
mod zone_bounds;

pub use check::Check;
pub use concurrent_rows::others_have_written;
pub use constraint::{Constraint, Rule, constraints_of, primary_key, unique_keys};
pub use context::RuleContext;
pub use declare::{ColumnClauses, Declared, DeclaredRule, column_clauses, identifier, table_constraint};
pub use defaults::{default_expr, default_value, planned_defaults};
pub use enforcer::{Enforcer, all_parts, key_search};
pub use existing::check_existing;
pub use expression::renamed;
pub use key::Key;
pub use new_keys::NewKeys;
pub use reading::{DeletedRows, ZoneCursor, read_zones};
pub use rules::TableRules;
pub use shapes::{check_shape, check_shapes};
