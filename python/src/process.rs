//! Values that belong to the process that made them.
//!
//! `fork` copies memory but no threads. In the child, an open store must do nothing: the bytes that it writes on
//! closing, and the lock of its directory, belong to the parent.

use std::fmt;
use std::mem::ManuallyDrop;

pub struct ProcessBound<T> {
    process: u32,
    value: ManuallyDrop<T>,
}

impl<T> ProcessBound<T> {
    pub fn new(value: T) -> ProcessBound<T> {
        ProcessBound { process: std::process::id(), value: ManuallyDrop::new(value) }
    }

    /// An error in a forked process.
    pub fn get(&self) -> Result<&T, ForkedProcess> {
        match self.is_here() {
            true => Ok(&self.value),
            false => Err(ForkedProcess { from: self.process }),
        }
    }

    fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Drop for ProcessBound<T> {
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: the value is dropped here and nowhere else, and nothing can access it afterwards. The test
            // `test_a_forked_process_is_told_to_open_again` ends a process that has a copy.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// A plain type, so that threads can use it without Python's lock.
#[derive(Debug, Clone, Copy)]
pub struct ForkedProcess {
    /// The process that owns it.
    from: u32,
}

impl fmt::Display for ForkedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store was opened by process {}, which this one was forked from", self.from)
    }
}
