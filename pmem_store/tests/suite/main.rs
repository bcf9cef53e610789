//! The tests of the store, as one binary: linking several costs more than running them.

mod check;
mod evolution;
mod child;
mod cut;
mod fault;
mod forged;
mod formats;
mod helpers;
mod lock;
mod log;
mod mapping;
mod recovery;
mod region;
mod restore;
mod segment;
mod sketch;
mod snapshot;
mod statistics;
mod store;
mod tail;
mod tidy;
mod transaction;
mod types;
mod versions;
mod unstorable;
