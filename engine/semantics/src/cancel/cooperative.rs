//! Cooperative scheduling: yields to other tasks.

use std::pin::pin;
use std::task::{Context, Poll};

/// Pending, to be polled again when the other tasks, timers and signals have had their turn.
///
/// Not `wake_by_ref`: tokio puts a task that wakes itself back into its queue, and looks for timers
/// and signals only after 61 turns of the queue. With turns of 10 ms that was 700 ms (measured).
pub fn yield_now<T>(context: &mut Context<'_>) -> Poll<T> {
    // Its first poll leaves the waker with the scheduler, which uses it after that.
    if pin!(tokio::task::yield_now()).poll(context).is_ready() {
        context.waker().wake_by_ref();
    }
    Poll::Pending
}
