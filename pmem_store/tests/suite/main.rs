//! The tests of the store, as one binary: linking several costs more than running them.

mod check;
mod fault;
mod helpers;
mod lock;
mod recovery;
mod region;
mod segment;
mod snapshot;
mod statistics;
mod store;
