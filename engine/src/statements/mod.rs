//! What each statement does that is no query. What it says is parsed in the crate `sql`, in files of the same names; `draft` is a table while
//! it is declared.

pub mod access;
pub mod alter;
pub mod copy;
pub mod copy_options;
pub mod copy_to;
pub mod create_table;
pub mod ddl;
pub mod describe;
pub mod draft;
pub mod external;
pub mod maintenance;
pub mod table_options;
pub mod temporary_table;
pub mod versions;
