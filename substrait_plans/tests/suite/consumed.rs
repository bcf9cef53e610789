//! Tests of reading plans: what the library gets wrong, one test each; what is refused; and malicious plans.

mod aggregates;
mod alike;
mod bad;
mod expressions;
mod intricate;
mod joins;
mod mutated;
mod refused;
mod support;
mod tables;
mod versions;
mod written;
