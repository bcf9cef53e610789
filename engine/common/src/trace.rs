//! Log lines of a statement's tasks are marked as those of the statement are.

use std::any::Any;

use datafusion::common::runtime::{JoinSetTracer, set_join_set_tracer};
use futures::future::BoxFuture;
use tracing::{Instrument, Span};

struct Tracer;

type Value = Box<dyn Any + Send>;

impl JoinSetTracer for Tracer {
    fn trace_future(&self, task: BoxFuture<'static, Value>) -> BoxFuture<'static, Value> {
        Box::pin(task.instrument(Span::current()))
    }

    fn trace_block(&self, work: Box<dyn FnOnce() -> Value + Send>) -> Box<dyn FnOnce() -> Value + Send> {
        let span = Span::current();
        Box::new(move || span.in_scope(work))
    }
}

/// For the whole process, whichever engine is first. Another program in it may have its own, which stays.
pub fn trace_tasks() {
    let _ = set_join_set_tracer(&Tracer);
}
