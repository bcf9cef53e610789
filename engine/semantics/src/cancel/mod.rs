//! Stops a query soon after its reader has dropped it.
//!
//! A query runs on a task of its own (`task`), so that it never blocks whoever polls it, and the result can be dropped at any time. A task
//! ends only where it yields. Without further measures two kinds of work would go on for seconds:
//!
//! - an operator has batch after batch ready, as a scan, a sort or a join does: such batches come with pauses (`paced`), and joins with a
//!   filter get small pieces;
//! - one batch has an expensive expression, such as a regular expression on long texts: it is evaluated in slices (`adaptive_slice`) and
//!   stops between two of them (`expression`).
//!
//! A third kind is a window that computes all rows in one step; its functions check for cancellation themselves (`windows`). `plan` and
//! `operators` add all that to the finished plan. If expressions make far larger values than they read, their operator gets few rows at
//! once (`adaptive_batch`), and the memory of the results counts against the limit of the query. Each batch is checked on its way for
//! buffers that it no longer uses (`buffers`).

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

pub use adaptive_batch::grows;
pub use adaptive_slice::AdaptiveSlice;
pub use cooperative::yield_now;
pub use expensive::{may_be_expensive, may_be_expensive_in_plan};
pub use expression::{CancellableExpr, is_out_of_memory};
pub use plan::interruptible;
pub use task::{on_a_task, on_a_task_of};
pub use windows::{CancellableWindows, is_unfiltered_window, is_watched_window, unwatched};
