//! The memory that the server keeps for all clients together: texts of statements, settings, bound parameters. Their
//! handles are bounded in number and each text in length, but their product is too large.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::Status;

pub struct Budget {
    used_bytes: AtomicUsize,
    max_bytes: usize,
}

/// Dropping it returns the bytes to the budget.
pub struct BudgetShare {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub fn new(max_bytes: usize) -> Arc<Budget> {
        Arc::new(Budget { used_bytes: AtomicUsize::new(0), max_bytes })
    }

    pub fn take(self: &Arc<Budget>, bytes: usize) -> Result<BudgetShare, Status> {
        let fits = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.max_bytes);
        match self.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits) {
            Ok(_) => Ok(BudgetShare { budget: Arc::clone(self), bytes }),
            Err(_) => Err(Status::resource_exhausted(format!(
                "the server keeps as many bytes of statements and parameters for its clients as it may ({}); close prepared statements, or wait until some expire",
                self.max_bytes
            ))),
        }
    }
}

impl BudgetShare {
    /// Adds the bytes of the other share.
    pub fn join(&mut self, mut other: BudgetShare) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Returns all but `bytes` to the budget.
    pub fn shrink(&mut self, bytes: usize) {
        let over = self.bytes.saturating_sub(bytes);
        self.bytes -= over;
        self.budget.used_bytes.fetch_sub(over, Ordering::AcqRel);
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returned_bytes_can_be_taken_again() {
        let budget = Budget::new(100);
        let first = budget.take(60).unwrap();
        assert!(budget.take(41).is_err());
        assert!(budget.take(usize::MAX).is_err());
        let _second = budget.take(40).unwrap();
        drop(first);
        budget.take(60).unwrap();
    }

    #[test]
    fn shares_can_be_joined_and_shrunk() {
        let budget = Budget::new(100);
        let mut share = budget.take(30).unwrap();
        share.join(budget.take(70).unwrap());
        assert!(budget.take(1).is_err());
        share.shrink(200);
        assert!(budget.take(1).is_err());
        share.shrink(40);
        drop(share);
        budget.take(100).unwrap();
    }
}
