//! A segment that is cut short while it is read is an error that says so, and never reads as zeros.

use std::fs::{self, File};
use std::path::Path;

use arrow::array::ArrayRef;
use pmem_store::Segment;

use crate::helpers::*;

fn cut(path: &Path, length: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_segment_cut_short_while_it_is_read_is_an_error_for_the_query() {
    let (_dir, store) = store_with(&[ints(0..100_000)]);
    let segment = segment(&store);
    File::options().write(true).open(segment.path()).unwrap().set_len(4_096).unwrap();
    let error = segment.batch(0, &[0]).unwrap_err().to_string();
    assert!(error.contains(segment.path().to_str().unwrap()), "{error}");
}

/// The cut may be inside a page, whose rest then reads as zeros without a fault.
#[test]
fn a_segment_cut_short_anywhere_while_it_is_read_is_an_error_that_says_so() {
    let rows = 150_000;
    let text = strings(rows, |row| format!("text {row}"));
    let numbers = ints(0..rows as i64).column(0).clone();
    let columns: Vec<(&str, ArrayRef)> = vec![("n", numbers), ("t", text)];
    let (_dir, store) = store_with(&[batch(columns)]);
    let table = table(&store, "t");
    let handle = &table.segments()[0];
    let bytes = fs::read(handle.path()).unwrap();
    let open = || Segment::open(handle.path(), &handle.record().sealed).unwrap();
    let whole = open();
    assert_eq!(whole.batch_count(), 2);
    let expected = [0, 1].map(|index| whole.batch(index, &[0, 1]).unwrap());
    let messages: Vec<usize> = (0..bytes.len() - 4).step_by(64).filter(|at| bytes[*at..at + 4] == [0xff; 4]).collect();
    // The messages are the schema, two batches, and the end of the stream.
    let [_, first, second, end] = messages[..] else { panic!("{messages:?}") };
    let mut random = Random(5);
    let messages = (first..first + 600).chain(second..second + 600).step_by(8);
    let anywhere = (0..100).map(|_| random.below(bytes.len()));
    for length in [0, 64].into_iter().chain(messages).chain(anywhere) {
        fs::write(handle.path(), &bytes).unwrap();
        let segment = open();
        cut(handle.path(), length as u64);
        for (index, ends_at) in [second, end].into_iter().enumerate() {
            match segment.batch(index, &[0, 1]) {
                Ok(batch) => {
                    // Only padding of a buffer is missing, or what comes after the batch.
                    assert!(length + 64 > ends_at, "batch {index}, {length} bytes");
                    assert_eq!(batch, expected[index], "batch {index}, {length} bytes");
                }
                Err(error) => {
                    assert!(length < ends_at && error.to_string().contains("it was cut short"), "batch {index}, {length} bytes: {error}")
                }
            }
        }
    }
}
