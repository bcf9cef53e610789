//! Stopping a query at once when nobody wants its rows any more.
//!
//! A query runs on a task of its own (`task`), so that whoever polls it is never kept busy by it and
//! can drop it at any time. A task ends only where it yields, and a join may work for minutes
//! between two yields, in which not even timers and signals of the runtime get a turn: joins are
//! given small pieces of work, and yield between them (`joins`, `paced`).

mod joins;
mod paced;
mod task;

pub(crate) use joins::interruptible;
pub(crate) use task::on_a_task;
