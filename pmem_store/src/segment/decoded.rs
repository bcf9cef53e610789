//! Decoded record batches of a mapped segment: their buffers lie in the mapping, and each batch is decoded once.
//!
//! Decoding makes an array of every column, which for a batch of 10,000 columns takes as long as the sum of one of them. The arrays are
//! memory of the process, so all segments share a budget for them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use parking_lot::Mutex;

use super::cache_budget::{CacheBudget, DECODED_BATCHES, ReadMark, Releasable};
use crate::error::Result;

/// One entry for each batch. Batches are shared, because a copy of 10,000 columns takes longer than the sum of one of them.
#[derive(Debug, Default)]
pub(super) struct DecodedBatches(Mutex<HashMap<usize, Arc<DecodedBatch>>>);

#[derive(Debug, Default)]
struct DecodedBatch {
    /// `None` after it was released, until it is read again.
    batch: Mutex<Option<Arc<RecordBatch>>>,
    read: ReadMark,
}

impl Releasable for DecodedBatch {
    fn was_read(&self) -> bool {
        self.read.take()
    }

    fn release(&self) -> bool {
        // The holder of the lock is decoding.
        self.batch.try_lock().map(|mut batch| *batch = None).is_some()
    }
}

impl DecodedBatches {
    /// Batch `index`; `decode` makes it if it is missing. A caller that comes while another one decodes waits for that one.
    pub fn get(&self, index: usize, decode: impl FnOnce() -> Result<RecordBatch>) -> Result<Arc<RecordBatch>> {
        self.get_within(&DECODED_BATCHES, index, decode)
    }

    fn get_within(&self, budget: &CacheBudget, index: usize, decode: impl FnOnce() -> Result<RecordBatch>) -> Result<Arc<RecordBatch>> {
        let decoded = Arc::clone(self.0.lock().entry(index).or_default());
        decoded.read.set();
        let mut slot = decoded.batch.lock();
        if let Some(batch) = &*slot {
            return Ok(Arc::clone(batch));
        }
        let batch = Arc::new(decode()?);
        *slot = Some(Arc::clone(&batch));
        drop(slot);
        let releasable: Arc<dyn Releasable> = decoded;
        budget.add(Arc::downgrade(&releasable), own_bytes(&batch));
        Ok(batch)
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// The bytes of a batch besides its buffers.
fn own_bytes(batch: &RecordBatch) -> usize {
    let of_array = |array: &ArrayRef| array.get_array_memory_size().saturating_sub(array.get_buffer_memory_size());
    size_of::<DecodedBatch>() + size_of::<RecordBatch>() + batch.columns().iter().map(of_array).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn batches_beyond_the_budget_are_decoded_again_when_they_are_read() {
        let one = RecordBatch::try_from_iter([("v", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]).unwrap();
        let budget = CacheBudget::new(2 * own_bytes(&one));
        let (batches, made) = (DecodedBatches::default(), Cell::new(0));
        let get = |index: usize| {
            let decode = || {
                made.set(made.get() + 1);
                Ok(one.clone())
            };
            batches.get_within(&budget, index, decode).unwrap()
        };
        let first = get(0);
        get(1);
        get(0);
        assert_eq!(made.get(), 2);
        get(2);
        assert_eq!(made.get(), 3);
        get(1);
        get(2);
        assert_eq!(made.get(), 3);
        get(0);
        assert_eq!(made.get(), 4);
        assert_eq!(*first, one, "it stays for who has it");
    }

    #[test]
    fn a_batch_is_counted_without_its_buffers() {
        let of = |rows: i64| {
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
            own_bytes(&RecordBatch::try_from_iter([("v", column)]).unwrap())
        };
        assert_eq!(of(10), of(100_000));
        assert!(of(10) < 1_000);
    }
}
