//! Third-party readers over foreign bytes may panic; the caller gets an error instead.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `read`; a panic becomes the text of an error.
///
/// The state `read` works on must not be used again after an error: unwinding may have left it
/// half changed. Every caller drops its reader then.
///
/// The default panic hook would still print a message and "note: run with RUST_BACKTRACE"; that is
/// the process's choice, not this module's.
pub(crate) fn guarded<T, E: std::fmt::Display>(
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => {
            let reason = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("unknown reason");
            Err(format!("its bytes make no sense ({reason})"))
        }
    }
}
