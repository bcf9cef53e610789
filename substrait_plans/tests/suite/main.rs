//! The tests.

mod consumed;
mod interop;
mod own_plans;
mod pushdown;
mod run;
mod tpch_store;
