//! The tests.

mod consumed;
mod interop;
mod own_plans;
mod pushdown;
mod run;
mod runtime;
mod sent_functions;
mod tpch_store;
