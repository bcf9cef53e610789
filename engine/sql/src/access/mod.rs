//! The statements about users, roles and grants. The parser supports only some of them, with other syntax:
//!
//! ```text
//! CREATE USER [IF NOT EXISTS] name [WITH] PASSWORD 'text' [ADMIN]
//! ALTER USER name [WITH] PASSWORD 'text' | ADMIN | NOT ADMIN
//! DROP USER [IF EXISTS] name
//! CREATE ROLE [IF NOT EXISTS] name;  DROP ROLE [IF EXISTS] name
//! GRANT privilege, … ON [TABLE] t | SCHEMA s | DATABASE quiver TO name, …;  REVOKE … FROM …
//! GRANT SELECT, OWNERSHIP ON GROUP|BLOB name TO name, …;  PUBLISH GROUP name;  UNPUBLISH GROUP name
//! GRANT FILES TO name, …;  GRANT role, … TO name, …;  REVOKE … FROM …
//! SHOW GRANTS [FOR name]
//! ```

mod parse;
pub mod statement;
mod token_reader;

pub use parse::parse_access;
pub use statement::{AccessStatement, Secret};
