//! Runs the statements that are not queries. The crate `sql` parses them, in files of the same names; `draft` is a table while it is
//! being declared.

pub mod access;
pub mod alter;
mod alter_system;
pub mod arrays;
pub mod copy;
pub mod copy_options;
pub mod copy_to;
pub mod create_table;
pub mod ddl;
pub mod describe;
pub mod draft;
pub mod external;
pub mod functions;
pub mod maintenance;
pub mod objects;
pub mod table_options;
pub mod temporary_table;
pub mod versions;
