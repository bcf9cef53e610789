//! What belongs to the process that made it.
//!
//! `fork` copies memory but no threads. In the copy an open store must do nothing: what it has to write when it is
//! closed, and the lock of its directory, are the parent's.

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

    /// An error in a process that was forked off since.
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
            // SAFETY: the value is dropped here and nowhere else, and nobody reaches it after this. The test
            // `test_a_forked_process_is_told_to_open_again` ends a process that has a copy.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// Plain, so that threads are told it which have nothing to do with Python.
#[derive(Debug, Clone, Copy)]
pub struct ForkedProcess {
    /// The process that has it.
    from: u32,
}

impl fmt::Display for ForkedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store was opened by process {}, which this one was forked from", self.from)
    }
}
