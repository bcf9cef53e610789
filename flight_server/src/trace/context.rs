//! The trace context: the trace of a span, and the span for which a thread works.

use std::cell::Cell;

use uuid::Uuid;

/// A span, as its children refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    /// Whoever began the trace may have decided not to sample it.
    pub is_sampled: bool,
}

const SAMPLED: u8 = 1;

thread_local! {
    /// The engine, which knows of no calls, tells where a statement ends, also when a stream of it is dropped: `Drop` takes no argument.
    static CURRENT: Cell<Option<Context>> = const { Cell::new(None) };
}

impl Context {
    /// The caller's span, from the W3C header `traceparent`. An invalid header is ignored.
    pub fn of_header(text: &str) -> Option<Context> {
        let mut parts = text.trim().split('-');
        let (version, trace_id, span_id, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may append fields.
        let [version] = bytes(version)?;
        if version == u8::MAX || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let ([flags], trace_id, span_id) = (bytes(flags)?, bytes(trace_id)?, bytes(span_id)?);
        let is_named = trace_id != [0; 16] && span_id != [0; 8];
        is_named.then_some(Context { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
    }

    /// The root span of a new trace.
    pub fn new() -> Context {
        Context { trace_id: Uuid::new_v4().into_bytes(), span_id: span_id(), is_sampled: true }
    }

    /// A child span.
    pub fn below(self) -> Context {
        Context { span_id: span_id(), ..self }
    }

    /// The span of the call for which this thread works.
    pub fn current() -> Option<Context> {
        CURRENT.get()
    }

    /// Runs `work` within this span.
    pub fn within<T>(self, work: impl FnOnce() -> T) -> T {
        /// Restores the previous span, also when `work` panics.
        struct Before(Option<Context>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _before = Before(CURRENT.replace(Some(self)));
        work()
    }

    /// The bytes as in a span and in `traceparent`.
    pub fn flags(self) -> u8 {
        if self.is_sampled { SAMPLED } else { 0 }
    }
}

/// The call for which an object was made. The object is dropped within that call's span, from whichever thread.
#[derive(Clone, Copy)]
pub struct CallTrace(Option<Context>);

impl CallTrace {
    pub fn current() -> CallTrace {
        CallTrace(Context::current())
    }

    pub fn within<T>(self, work: impl FnOnce() -> T) -> T {
        match self.0 {
            Some(context) => context.within(work),
            None => work(),
        }
    }
}

fn span_id() -> [u8; 8] {
    let (id, _) = Uuid::new_v4().as_u64_pair();
    id.to_be_bytes()
}

/// Decodes lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn the_caller_says_which_trace_it_is() {
        let context = Context::of_header(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!((context.trace_id[0], context.span_id[7], context.is_sampled), (0x0a, 0x31, true));
        assert!(!Context::of_header(&format!("00-{TRACE}-{SPAN}-00")).unwrap().is_sampled);
        assert_eq!(Context::of_header(&format!("01-{TRACE}-{SPAN}-01-more")).unwrap(), context);
        let below = context.below();
        assert_eq!(below.trace_id, context.trace_id);
        assert_ne!(below.span_id, context.span_id);
    }

    #[test]
    fn an_invalid_header_is_ignored() {
        let none = "0".repeat(32);
        for header in [
            String::new(),
            "00".to_string(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{none}-{SPAN}-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{SPAN}x-01"),
            format!("00-{TRACE}ü-{SPAN}-01"),
        ] {
            assert_eq!(Context::of_header(&header), None, "{header}");
        }
    }

    #[test]
    fn a_thread_works_for_one_call_at_a_time() {
        let (outer, inner) = (Context::new(), Context::new());
        assert_eq!(Context::current(), None);
        outer.within(|| {
            inner.within(|| assert_eq!(Context::current(), Some(inner)));
            assert_eq!(Context::current(), Some(outer));
        });
        assert_eq!(Context::current(), None);
    }
}
