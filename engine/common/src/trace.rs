//! Log lines of a statement's tasks carry the statement's span.

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

/// For the whole process; the first engine sets it. An embedding program may have installed its own tracer, which stays.
pub fn trace_tasks() {
    let _ = set_join_set_tracer(&Tracer);
}
