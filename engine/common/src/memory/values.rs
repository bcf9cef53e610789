//! Counts the memory of functions during the evaluation of an expression, before they allocate it.
//!
//! An expression is evaluated in one go on one thread, and intermediate values do not outlive the evaluation. So one reservation counts
//! all of them. At the end it shrinks to the result and lasts as long as any buffer of the result.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, make_array};
use arrow::buffer::Buffer;
use bytes::Bytes as SharedBytes;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

/// Up to this size nothing is counted, which covers most batches of most statements.
const UNCOUNTED_BYTES: usize = 1 << 20;
/// A result is counted until its buffers of at least this size are freed.
const BUFFER_BYTES: usize = 64 << 10;

thread_local! {
    /// A thread-local, because `PhysicalExpr::evaluate(&self, batch)` passes no context and several threads evaluate one expression at
    /// once.
    static EVALUATION: RefCell<Option<Evaluation>> = const { RefCell::new(None) };
}

#[derive(Debug, Default)]
struct Evaluation {
    /// Bytes that are live now.
    bytes: usize,
    /// Bytes that were allocated in total.
    total_bytes: usize,
    reservation: Option<MemoryReservation>,
}

/// The evaluation of one expression on this thread.
#[derive(Debug)]
pub struct EvaluationGuard(());

impl EvaluationGuard {
    /// `None` if an evaluation is already active on this thread: the inner one is part of it.
    pub fn begin() -> Option<EvaluationGuard> {
        EVALUATION.with_borrow_mut(|evaluation| match evaluation {
            Some(_) => None,
            None => {
                *evaluation = Some(Evaluation::default());
                Some(EvaluationGuard(()))
            }
        })
    }

    /// Bytes allocated so far.
    pub fn total_bytes(&self) -> usize {
        EVALUATION.with_borrow(|evaluation| evaluation.as_ref().map_or(0, |evaluation| evaluation.total_bytes))
    }

    /// Live bytes in the evaluation of this thread.
    pub fn counted() -> usize {
        EVALUATION.with_borrow(|evaluation| evaluation.as_ref().map_or(0, |evaluation| evaluation.bytes))
    }

    /// Lowers the live bytes to `bytes`.
    pub fn count(bytes: usize) {
        EVALUATION.with_borrow_mut(|evaluation| {
            let Some(evaluation) = evaluation else { return };
            evaluation.bytes = bytes.min(evaluation.bytes);
            if let Some(reservation) = &evaluation.reservation {
                reservation.shrink(reservation.size().saturating_sub(evaluation.bytes));
            }
        });
    }

    /// The result, which is counted for as long as it is held. Everything else is released.
    pub fn finish(self, result: ArrayRef) -> Result<ArrayRef> {
        let reservation = EVALUATION.with_borrow_mut(|evaluation| evaluation.as_mut()?.reservation.take());
        match reservation {
            Some(reservation) => counted(result, reservation),
            None => Ok(result),
        }
    }
}

impl Drop for EvaluationGuard {
    fn drop(&mut self) {
        EVALUATION.set(None);
    }
}

/// Reserves memory that `maker` is about to allocate; an error if there is no room. Outside of an evaluation nothing is counted.
pub fn reserve(pool: &Arc<dyn MemoryPool>, maker: impl Fn() -> String, bytes: usize) -> Result<()> {
    EVALUATION.with_borrow_mut(|evaluation| {
        let Some(evaluation) = evaluation else { return Ok(()) };
        let total = evaluation.bytes.saturating_add(bytes);
        if total > UNCOUNTED_BYTES {
            let reservation =
                evaluation.reservation.get_or_insert_with(|| MemoryConsumer::new(format!("what {} makes", maker())).register(pool));
            reservation.try_grow(total.saturating_sub(reservation.size()))?;
        }
        evaluation.bytes = total;
        evaluation.total_bytes = evaluation.total_bytes.saturating_add(bytes);
        Ok(())
    })
}

/// The array, whose large buffers hold `reservation` until all of them are freed.
fn counted(array: ArrayRef, reservation: MemoryReservation) -> Result<ArrayRef> {
    let data = array.to_data();
    let bytes = large_buffers(&data);
    if bytes == 0 {
        return Ok(array);
    }
    // The exact size is known now; before, it was an estimate.
    reservation.shrink(reservation.size().saturating_sub(bytes));
    Ok(make_array(counted_data(data, &Arc::new(reservation))?))
}

fn is_large(buffer: &Buffer) -> bool {
    buffer.len() >= BUFFER_BYTES
}

fn large_buffers(data: &ArrayData) -> usize {
    let own = data.buffers().iter().filter(|buffer| is_large(buffer)).map(Buffer::len).sum::<usize>();
    own + data.child_data().iter().map(large_buffers).sum::<usize>()
}

fn counted_data(data: ArrayData, reservation: &Arc<MemoryReservation>) -> Result<ArrayData> {
    let buffers = data.buffers().iter().map(|buffer| match is_large(buffer) {
        true => Buffer::from(SharedBytes::from_owner(CountedBuffer { buffer: buffer.clone(), _reservation: Arc::clone(reservation) })),
        false => buffer.clone(),
    });
    let buffers = buffers.collect();
    let children = data.child_data().iter().map(|child| counted_data(child.clone(), reservation)).collect::<Result<Vec<_>>>()?;
    Ok(data.into_builder().buffers(buffers).child_data(children).build()?)
}

/// A buffer that holds the reservation.
struct CountedBuffer {
    buffer: Buffer,
    _reservation: Arc<MemoryReservation>,
}

impl AsRef<[u8]> for CountedBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray, StringArray, StringViewArray};
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    use super::*;

    fn pool() -> Arc<dyn MemoryPool> {
        Arc::new(GreedyMemoryPool::new(10 << 20))
    }

    #[test]
    fn what_is_made_counts_until_the_result_is_dropped() {
        let pool = pool();
        let evaluating = EvaluationGuard::begin().unwrap();
        assert!(EvaluationGuard::begin().is_none());
        reserve(&pool, || "f()".to_string(), 512 << 10).unwrap();
        assert_eq!(pool.reserved(), 0);
        reserve(&pool, || "f()".to_string(), 4 << 20).unwrap();
        assert_eq!(pool.reserved(), (4 << 20) + (512 << 10));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values([String::from_utf8(vec![b'x'; 2 << 20]).unwrap(), "y".to_string()]));
        let result = evaluating.finish(Arc::clone(&texts)).unwrap();
        assert_eq!(&result, &texts);
        drop(texts);
        assert_eq!(pool.reserved(), (2 << 20) + 1);
        let last = result.slice(1, 1);
        drop(result);
        assert_eq!(pool.reserved(), (2 << 20) + 1, "a part of it holds all of it");
        assert_eq!(last.as_string::<i32>().value(0), "y");
        drop(last);
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn what_has_no_room_is_refused_and_not_counted() {
        let pool = pool();
        let evaluating = EvaluationGuard::begin().unwrap();
        let error = reserve(&pool, || "repeat()".to_string(), 20 << 20).unwrap_err().to_string();
        assert!(error.contains("what repeat() makes"), "{error}");
        assert_eq!((evaluating.total_bytes(), EvaluationGuard::counted(), pool.reserved()), (0, 0, 0));
        reserve(&pool, || "f()".to_string(), 9 << 20).unwrap();
        drop(evaluating);
        assert_eq!(pool.reserved(), 0);
        assert!(reserve(&pool, || "f()".to_string(), 20 << 20).is_ok(), "outside of an evaluation nothing is counted");
    }

    #[test]
    fn nested_arrays_and_views_are_counted_where_their_bytes_are() {
        let long = String::from_utf8(vec![b'x'; 3 << 20]).unwrap();
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values([long.as_str(), "y"]));
        let lists = datafusion::common::utils::SingleRowListArrayBuilder::new(Arc::clone(&views)).build_list_array();
        for array in [views, Arc::new(lists) as ArrayRef] {
            let pool = pool();
            let evaluating = EvaluationGuard::begin().unwrap();
            reserve(&pool, || "f()".to_string(), 8 << 20).unwrap();
            let result = evaluating.finish(array.slice(0, 1)).unwrap();
            assert_eq!(&result, &array.slice(0, 1));
            assert!(((3 << 20)..(8 << 20)).contains(&pool.reserved()), "{}", pool.reserved());
            drop(result);
            assert_eq!(pool.reserved(), 0);
        }
    }
}
