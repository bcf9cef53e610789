//! Stack space for recursion.
//!
//! Parsing and planning walk a statement's tree by recursion, as deep as its longest chain of
//! operators, and not every walk in DataFusion grows the stack as it goes (test
//! `long_statements_over_a_table_do_not_end_the_process`). A worker's stack of 2 MiB is too small.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::EngineError;
use crate::report::Bytes;

/// Only reserved: pages are committed when they are touched, and given back after each poll.
const STACK_BYTES: usize = 256 << 20;
/// With this much of the stack left, no other one is needed.
const ENOUGH_BYTES: usize = 64 << 20;
/// Longer statements may nest deeply and run on a temporary stack. Pages touched on a thread's own stack would stay resident.
const SHORT_BYTES: usize = 4 << 10;

/// The stack size of threads that plan statements, only reserved. With it, short statements need no other stack: to map one, touch its
/// pages and unmap it took 0.17 of the 0.44 ms of `SELECT 1`.
pub const WORKER_STACK_BYTES: usize = STACK_BYTES + ENOUGH_BYTES;

/// Threads that wait for the disk or do slow planning, in addition to those that run queries.
const OTHER_THREADS: u64 = 4;
/// The program, its heap, the catalog and a log or two.
const OTHER_BYTES: u64 = 1 << 30;

/// The process cannot recover if a thread or its stack cannot be allocated, so this is checked before the query threads start.
pub fn check_address_space(threads: usize) -> Result<(), EngineError> {
    let needed = (threads as u64 + OTHER_THREADS) * WORKER_STACK_BYTES as u64 + OTHER_BYTES;
    let Some(limit) = address_space_bytes().filter(|limit| *limit < needed) else { return Ok(()) };
    let [limit, needed] = [limit, needed].map(Bytes);
    let message = format!("the process may have {limit} of address space, and needs {needed} for {threads} threads and their stacks");
    let hint = "raise the limit (ulimit -v), of which little becomes memory; or take fewer threads";
    Err(EngineError::Execution { message, hint: Some(hint.into()) })
}

/// The limit of the address space, if there is one.
fn address_space_bytes() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The future, polled on a large stack.
pub struct LargeStackFuture<F> {
    future: Pin<Box<F>>,
    is_short: bool,
}

/// For a statement or plan of this size.
pub fn deep<F: Future>(size_bytes: usize, future: F) -> LargeStackFuture<F> {
    LargeStackFuture { future: Box::pin(future), is_short: size_bytes <= SHORT_BYTES }
}

/// Runs `work` on a large stack. The thread does nothing else meanwhile.
pub fn with_large_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(STACK_BYTES, work)
}

impl<F: Future> Future for LargeStackFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let is_short = self.is_short;
        let poll = || self.future.as_mut().poll(context);
        if is_short { stacker::maybe_grow(ENOUGH_BYTES, STACK_BYTES, poll) } else { stacker::grow(STACK_BYTES, poll) }
    }
}
