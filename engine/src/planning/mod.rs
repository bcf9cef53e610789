//! Planning that takes long, on threads of its own: what runs, who waits and /health have theirs meanwhile.
//!
//! - [`places`] — how many plan so at once, and whose turn it is
//! - [`large`] — which statements and plans take long
//!
//! A planner does not give way: one step of it may take seconds where a statement has thousands of columns. So who waits for it waits
//! on another thread than it works on, and goes away when the statement is stopped, is late, or its client has gone. What was planned
//! goes on to its next rule then, keeps its place until there, and is dropped.

mod large;
mod places;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::queries::Whose;
use common::cancellable_rules::Asker;
use common::error::EngineError;
use common::stack::with_room;
use places::Places;

pub use large::{is_large, is_long, stands_for_many};

/// Boxed, so that whoever asks whether the future of a statement is Send need not look into this one.
pub type Work<T> = BoxFuture<'static, Result<T, EngineError>>;

/// Of an engine.
#[derive(Debug)]
pub struct Planning {
    places: Arc<Places>,
}

impl Planning {
    /// For so many processors.
    pub fn new(threads: usize) -> Planning {
        Planning { places: Places::new(threads) }
    }

    /// What `work` gives, which works on a thread of its own once it is this user's turn. Dropped, it asks the work to end.
    ///
    /// **Invariant:** `work` comes here no second time: it would wait for the place that it has.
    pub async fn aside<T: Send + 'static>(&self, whose: &Whose, work: Work<T>) -> Result<T, EngineError> {
        // Without a runtime there is nobody else to hold up.
        let Ok(runtime) = Handle::try_current() else { return work.await };
        let place = self.places.take(whose).await;
        let (mut give, given) = oneshot::channel();
        let asker = Asker::default();
        let asks = asker.asks();
        let work = work.instrument(tracing::Span::current());
        let planner = tokio::task::spawn_blocking(move || {
            let _place = place;
            // What nobody takes is dropped here, where there is room for it too.
            with_room(|| {
                asks.while_planning(|| {
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
                })
            });
        });
        let done = given.await;
        drop(asker);
        match done {
            Ok(done) => done,
            Err(_) => match planner.await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                _ => Err(EngineError::Cancelled),
            },
        }
    }
}
