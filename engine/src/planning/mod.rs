//! Runs slow planning on separate threads, so that queries, connections and /health are not blocked.
//!
//! - [`permits`] — how many plan so at once, and whose turn it is
//! - [`large`] — which statements and plans take long
//!
//! A planner does not give way: one step of it may take seconds where a statement has thousands of columns. So who waits for it waits
//! on another thread than it works on, and goes away when the statement is stopped, is late, or its client has gone. What was planned
//! goes on to its next rule then, keeps its place until there, and is dropped.

mod large;
mod permits;

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

/// Boxed, so that whoever asks whether the future of a statement is Send need not look into this one.
pub type Work<T> = BoxFuture<'static, Result<T, EngineError>>;

/// Of an engine.
#[derive(Debug)]
pub struct Planning {
    places: Arc<PlanningPermits>,
}

impl Planning {
    /// `threads` is the number of processors.
    pub fn new(threads: usize) -> Planning {
        Planning { places: PlanningPermits::new(threads) }
    }

    /// What `work` gives, which works on a thread of its own once it is this user's turn. Dropped, it drops the work where that waits; the
    /// rules of a planner end with the statement.
    ///
    /// **Invariant:** `work` does not call this again: it would wait for the permit that it holds itself.
    pub async fn on_planner_thread<T: Send + 'static>(&self, principal: &Principal, work: Work<T>) -> Result<T, EngineError> {
        // Without a runtime there is nobody else to hold up.
        let Ok(runtime) = Handle::try_current() else { return work.await };
        let place = self.places.take(principal).await;
        let (mut give, given) = oneshot::channel();
        let work = work.instrument(tracing::Span::current());
        let planner = tokio::task::spawn_blocking(move || {
            let _place = place;
            // A plan that nobody takes is dropped here, on the large stack.
            with_large_stack(|| {
                let done = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        () = give.closed() => None,
                        done = work => Some(done),
                    }
                });
                if let Some(done) = done {
                    drop(give.send(done));
                }
            });
        });
        match given.await {
            Ok(done) => done,
            Err(_) => match planner.await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                _ => Err(EngineError::Cancelled),
            },
        }
    }
}
