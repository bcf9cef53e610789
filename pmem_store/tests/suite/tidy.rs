//! The rules of ARCHITECTURE.md and CONTRIBUTING.md, checked on the source tree.
//!
//! The checks read text and compile nothing, so a rule costs milliseconds and covers every crate. A rule
//! that fails says what to do. Changing a rule is fine; change the page that states it as well.

mod boundaries;
mod code;
mod pages;
mod sizes;
mod style;
mod tree;

/// Fails with all problems at once, and with advice.
fn settle(problems: Vec<String>, advice: &str) {
    assert!(problems.is_empty(), "\n\n  {}\n\n{advice}\n", problems.join("\n  "));
}
