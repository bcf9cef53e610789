//! Runs slow planning on separate threads, so that queries, connections and /health are not blocked.
//!
//! - [`permits`] — how many plan at once, and whose turn it is
//! - [`large`] — which statements and plans are slow to plan
//! - [`plan_cache`] — plans of statements that come again
//! - [`operator_template`] — their operators; [`statement_exprs`] — expressions in them that belong to one statement
//! - [`table_order`] — a rule of the optimizer: rows of one small table come in its order
//!
//! A planner does not yield: one step of it may take seconds for a statement with thousands of columns. So the caller waits on another
//! thread than the planner, and stops waiting when the statement is stopped, times out, or its client is gone. The planner then runs
//! until its next rule, keeps its permit until there, and its plan is dropped.

mod large;
pub mod operator_template;
mod permits;
pub mod plan_cache;
mod statement_exprs;
pub mod table_order;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::queries::Principal;
use common::error::EngineError;
use common::stack::with_large_stack;
use permits::PlanningPermits;

pub use large::{is_large, is_long, stands_for_many};

/// Boxed, so that the compiler need not look into this future to see whether a statement's future is Send.
pub type Work<T> = BoxFuture<'static, Result<T, EngineError>>;

/// The planner threads of an engine.
#[derive(Debug)]
pub struct Planning {
    places: Arc<PlanningPermits>,
}

impl Planning {
    /// `threads` is the number of processors.
    pub fn new(threads: usize) -> Planning {
        Planning { places: PlanningPermits::new(threads) }
    }

    /// Runs `work` on a thread of its own once it is this user's turn, and returns its result. Dropping the future drops `work` at its
    /// next await; the rules of a planner check for cancellation.
    ///
    /// **Invariant:** `work` does not call this again: it would wait for the permit that it holds itself.
    pub async fn on_planner_thread<T: Send + 'static>(&self, principal: &Principal, work: Work<T>) -> Result<T, EngineError> {
        // Without a runtime there are no other tasks to delay.
        let Ok(runtime) = Handle::try_current() else { return work.await };
        let place = self.places.take(principal).await;
        let (mut sender, receiver) = oneshot::channel();
        let work = work.instrument(tracing::Span::current());
        let planner = tokio::task::spawn_blocking(move || {
            let _place = place;
            // A plan that nobody takes is dropped here, on the large stack.
            with_large_stack(|| {
                let done = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        () = sender.closed() => None,
                        done = work => Some(done),
                    }
                });
                if let Some(done) = done {
                    drop(sender.send(done));
                }
            });
        });
        match receiver.await {
            Ok(done) => done,
            Err(_) => match planner.await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                _ => Err(EngineError::Cancelled),
            },
        }
    }
}
