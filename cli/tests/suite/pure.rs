//! Modules of the binary whose own tests run here. They need no engine; a test target of the
//! binary itself would cost a second link of everything below it.

#[path = "../../src/copy_command.rs"]
mod copy_command;
#[path = "../../src/dot_command.rs"]
mod dot_command;
#[path = "../../src/error_mark.rs"]
mod error_mark;
#[path = "../../src/lexer.rs"]
mod lexer;
#[path = "../../src/meta_command.rs"]
mod meta_command;
#[path = "../../src/script.rs"]
mod script;
#[path = "../../src/console/split_batches.rs"]
mod split_batches;
#[path = "../../src/table_name.rs"]
mod table_name;
#[path = "../../src/units.rs"]
mod units;
#[path = "../../src/variables.rs"]
mod variables;
