//! The tests of the store, as one binary: linking several costs more than running them.

mod check;
mod child;
mod cut;
mod fault;
mod forged;
mod helpers;
mod lock;
mod mapping;
mod recovery;
mod region;
mod segment;
mod sketch;
mod snapshot;
mod statistics;
mod store;
mod tidy;
mod types;
mod unstorable;
