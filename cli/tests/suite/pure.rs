//! Modules of the binary whose own tests run here. They need no engine; a test target of the
//! binary itself would cost a second link of everything below it.

#[path = "../../src/shell/keywords.rs"]
mod keywords;
#[path = "../../src/lexer.rs"]
mod lexer;
#[path = "../../src/marked.rs"]
mod marked;
#[path = "../../src/meta_command.rs"]
mod meta_command;
#[path = "../../src/console/pieces.rs"]
mod pieces;
#[path = "../../src/script.rs"]
mod script;
#[path = "../../src/table_name.rs"]
mod table_name;
#[path = "../../src/units.rs"]
mod units;
