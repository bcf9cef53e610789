//! What all clients together may have us keep: texts of statements, settings, bound parameters. Each of their
//! handles is bounded in number and each text in length, but not their product.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::Status;

pub struct Budget {
    used_bytes: AtomicUsize,
    max_bytes: usize,
}

/// Given back when it is dropped.
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
    /// Takes the other one in.
    pub fn join(&mut self, mut other: BudgetShare) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Gives back what it has over so many bytes.
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
    fn what_is_given_back_can_be_taken_again() {
        let budget = Budget::new(100);
        let first = budget.take(60).unwrap();
        assert!(budget.take(41).is_err());
        assert!(budget.take(usize::MAX).is_err());
        let _second = budget.take(40).unwrap();
        drop(first);
        budget.take(60).unwrap();
    }

    #[test]
    fn shares_become_one_of_which_a_part_is_given_back() {
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
