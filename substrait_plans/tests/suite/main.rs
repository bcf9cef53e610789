//! The tests.

mod own_plans;
mod pushdown;
mod run;
mod tpch_store;
