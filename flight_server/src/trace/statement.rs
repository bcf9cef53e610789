//! The span of a statement: its metrics, and not its text, which may hold private data.

use std::time::{Duration, SystemTime};

use engine::{Outcome, StatementEnd};

use super::context::Context;
use super::messages::{ERROR, INTERNAL, KeyValue, Span, SpanStatus};
use super::nanoseconds;

/// Called when the statement ends, by the thread that works for its call. A statement outside of all calls, such as one of
/// the embedding program, begins a trace. `None` if it is not sampled.
pub fn span(end: &StatementEnd<'_>) -> Option<Span> {
    let parent = Context::current();
    let context = parent.map_or_else(Context::new, Context::below);
    if !context.is_sampled {
        return None;
    }
    let ended = SystemTime::now();
    let elapsed = Duration::try_from_secs_f64(end.elapsed_ms / 1e3).unwrap_or_default();
    let started = ended.checked_sub(elapsed).unwrap_or(ended);
    let kind = end.kind.map_or("unknown", |kind| kind.name());
    let mut attributes = vec![
        KeyValue::text("db.system.name", "quiver"),
        KeyValue::int("quiver.query_id", end.query_id),
        KeyValue::int("quiver.session_id", end.session_id),
        KeyValue::text("quiver.kind", kind),
        KeyValue::text("quiver.outcome", end.outcome.name()),
        KeyValue::int("quiver.queued_ms", end.queued_ms),
        KeyValue::int("quiver.rows_returned", end.rows_returned),
        KeyValue::int("quiver.bytes_touched", end.bytes_touched),
        KeyValue::int("quiver.bytes_returned", end.bytes_returned),
        KeyValue::int("quiver.peak_memory_bytes", end.peak_memory_bytes),
    ];
    if !end.user.is_empty() {
        attributes.push(KeyValue::text("user.name", end.user));
    }
    if let Outcome::Failed(kind) = end.outcome {
        attributes.push(KeyValue::text("error.type", kind.name()));
    }
    // Cancelled by its reader, which is not a failure.
    let is_well = matches!(end.outcome, Outcome::Done | Outcome::Cancelled);
    let status = (!is_well).then(|| SpanStatus { message: end.outcome.name().to_string(), code: ERROR });
    Some(Span {
        trace_id: context.trace_id.to_vec(),
        span_id: context.span_id.to_vec(),
        parent_span_id: parent.map_or_else(Vec::new, |parent| parent.span_id.to_vec()),
        name: kind.to_string(),
        kind: INTERNAL,
        start_time_unix_nano: nanoseconds(started),
        end_time_unix_nano: nanoseconds(ended),
        attributes,
        status,
        flags: context.flags().into(),
    })
}
