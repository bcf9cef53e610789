//! Stopping a query at once when nobody wants its rows any more.
//!
//! A query runs on a task of its own (`task`), so that whoever polls it is never kept busy by it and
//! can drop it at any time. A task ends only where it yields, and joins may work for minutes between
//! two yields: they are made to yield (`yielding`), and their filters to fail once the query is
//! dropped (`guard`).

mod guard;
mod joins;
mod task;
mod yielding;

pub(crate) use joins::interruptible;
pub(crate) use task::on_a_task;
