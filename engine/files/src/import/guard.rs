//! Third-party readers may panic on foreign bytes; the caller gets an error instead.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// A hook of panics gets the panic alone, on the thread that panics.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`; a panic becomes an error message.
///
/// The state that `read` works on must not be used after an error: unwinding may have left it
/// half changed. Every caller drops its reader then.
pub fn guarded<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    let was_guarded = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(was_guarded);
    match result {
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

/// The user should see the error and not also "thread panicked at …". So the panic hook of the process does not get panics
/// that will become errors; it gets all others.
///
/// It is for programs only, because a library must not change its host's hook: without this call the
/// host's hook stays, and gets guarded panics too.
pub fn silence_guarded_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                hook(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_of_the_process_stays_until_it_is_asked_to_be_silent() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            match panic.payload_as_str() {
                Some("of the hook's test") => drop(HEARD.fetch_add(1, Ordering::Relaxed)),
                _ => before(panic),
            };
        }));
        let panics = || guarded(|| -> Result<(), String> { panic!("of the hook's test") }).unwrap_err();
        panics();
        assert_eq!(HEARD.load(Ordering::Relaxed), 1);
        silence_guarded_panics();
        panics();
        assert_eq!(HEARD.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_becomes_an_error() {
        let read = || -> Result<(), String> { panic!("index {} out of range", 7) };
        let error = guarded(read).unwrap_err();
        assert_eq!(error, "its bytes make no sense (index 7 out of range)");
        assert_eq!(guarded(|| Ok::<_, String>(1)), Ok(1));
    }
}
