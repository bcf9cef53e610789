//! Decides between stop and commit. Whoever stops a statement stops it here first; whoever commits it asks here first.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use common::error::EngineError;

/// Why a statement was stopped, other than by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Killed,
    /// By `quiver.statement_timeout_ms`.
    TimedOut {
        limit_ms: u64,
    },
    /// It waited for admission for too long.
    QueueTimeout {
        limit_ms: u64,
    },
}

impl StopReason {
    pub fn error(self) -> EngineError {
        match self {
            StopReason::Killed => EngineError::Killed,
            StopReason::TimedOut { limit_ms } => EngineError::TimedOut { limit_ms },
            StopReason::QueueTimeout { limit_ms } => EngineError::QueueTimedOut { limit_ms },
        }
    }
}

/// The outcome of an attempt to stop a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    Now,
    Before,
    /// Its commit has begun or is done.
    TooLate,
}

#[derive(Debug, Default)]
pub struct CommitGuard(Mutex<GuardState>);

#[derive(Debug, Default)]
struct GuardState {
    stop: Option<StopReason>,
    has_begun_commit: bool,
    /// A stop that came during the commit, in case the commit is abandoned.
    late: Option<StopReason>,
    /// The waker of the statement's only waiter.
    waker: Option<Waker>,
}

impl CommitGuard {
    pub fn stop(&self, why: StopReason) -> StopOutcome {
        let waker = {
            let mut state = self.0.lock();
            if state.stop.is_some() {
                return StopOutcome::Before;
            }
            if state.has_begun_commit {
                state.late.get_or_insert(why);
                return StopOutcome::TooLate;
            }
            state.stop = Some(why);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        StopOutcome::Now
    }

    /// From here on nothing can stop the statement; an error if it was stopped before.
    pub fn begin_commit(&self) -> Result<(), EngineError> {
        let mut state = self.0.lock();
        match state.stop {
            Some(stop) => Err(stop.error()),
            None => {
                state.has_begun_commit = true;
                Ok(())
            }
        }
    }

    /// The commit failed, and the statement may be retried.
    pub fn abandon_commit(&self) {
        let mut state = self.0.lock();
        state.has_begun_commit = false;
        state.stop = state.stop.or(state.late);
    }

    pub fn has_begun_commit(&self) -> bool {
        self.0.lock().has_begun_commit
    }

    pub fn stopped(&self) -> Option<StopReason> {
        self.0.lock().stop
    }

    /// Ready when the statement has been stopped.
    pub fn poll_stop(&self, context: &mut Context<'_>) -> Poll<StopReason> {
        let mut state = self.0.lock();
        if let Some(stop) = state.stop {
            return Poll::Ready(stop);
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// The result of `work`, or an error if the statement is stopped, which drops `work`.
    pub async fn until_stopped<T>(&self, work: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
        let mut work = pin!(work);
        poll_fn(|context| match self.poll_stop(context) {
            Poll::Ready(stop) => Poll::Ready(Err(stop.error())),
            Poll::Pending => work.as_mut().poll(context),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stopped_cannot_be_committed() {
        let commit_guard = CommitGuard::default();
        assert_eq!(commit_guard.stop(StopReason::Killed), StopOutcome::Now);
        assert_eq!(commit_guard.stop(StopReason::TimedOut { limit_ms: 1 }), StopOutcome::Before);
        assert!(matches!(commit_guard.begin_commit(), Err(EngineError::Killed)));
    }

    #[test]
    fn what_is_being_committed_cannot_be_stopped() {
        let commit_guard = CommitGuard::default();
        commit_guard.begin_commit().unwrap();
        assert_eq!(commit_guard.stop(StopReason::Killed), StopOutcome::TooLate);
        assert_eq!(commit_guard.stopped(), None);
    }

    #[test]
    fn a_stop_that_came_too_late_holds_when_the_commit_comes_to_nothing() {
        let commit_guard = CommitGuard::default();
        commit_guard.begin_commit().unwrap();
        commit_guard.stop(StopReason::TimedOut { limit_ms: 7 });
        commit_guard.abandon_commit();
        assert!(matches!(commit_guard.begin_commit(), Err(EngineError::TimedOut { limit_ms: 7 })));
    }
}
