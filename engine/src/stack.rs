//! Room for recursion.
//!
//! Parsing and planning walk a statement's tree by recursion, as deep as its longest chain of
//! operators, and not every walk in DataFusion grows the stack as it goes (test
//! `long_statements_over_a_table_do_not_end_the_process`). A worker's stack of 2 MiB is too small.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Only reserved: pages are taken as they are touched, and given back after each poll.
const STACK_BYTES: usize = 256 << 20;
/// With this much left there is no need for another.
const ENOUGH_BYTES: usize = 64 << 20;

/// The future, polled on a large stack.
pub struct Deep<F>(Pin<Box<F>>);

pub fn deep<F: Future>(future: F) -> Deep<F> {
    Deep(Box::pin(future))
}

impl<F: Future> Future for Deep<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        stacker::maybe_grow(ENOUGH_BYTES, STACK_BYTES, || self.0.as_mut().poll(context))
    }
}
