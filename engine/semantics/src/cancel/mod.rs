//! Stopping a query at once when nobody wants its rows any more.
//!
//! A query runs on a task of its own (`task`), so that whoever polls it is never kept busy by it and
//! can drop it at any time. A task ends only where it yields. Two kinds of work would go on for
//! seconds without that:
//!
//! - batch after batch out of an operator that has them ready, as a scan, a sort or a join does: they
//!   come with pauses (`paced`), and joins with a filter are given small pieces;
//! - one batch with a dear expression, such as a regular expression on long texts: it is evaluated in
//!   slices (`adaptive_slice`) and stops between two of them (`expression`).
//!
//! A third kind, the rows of a window in one step, ask by themselves (`windows`). `plan` and `operators` put all that where
//! it is needed, when the plan is otherwise finished. Where expressions make far more of a row than there is in it, their operator is
//! given few rows at once (`adaptive_batch`), and what they make counts against the limit of the query.
//! Each batch is looked at on its way, and what it does not show is let go (`buffers`).

mod adaptive_batch;
mod adaptive_slice;
mod buffers;
mod cooperative;
mod elements;
mod expensive;
mod expression;
mod operators;
mod paced;
mod plan;
mod task;
mod windows;

pub use adaptive_slice::AdaptiveSlice;
pub use cooperative::yield_now;
pub use expensive::{may_be_expensive, may_be_expensive_in_plan};
pub use expression::{CancellableExpr, is_out_of_memory};
pub use plan::interruptible;
pub use task::{on_a_task, on_a_task_of};
pub use windows::{CancellableWindows, is_watched};
