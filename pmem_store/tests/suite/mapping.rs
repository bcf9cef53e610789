//! Mappings of sealed files: their content, and the errors.

use std::sync::Arc;

use pmem_store::mapping::{Mapping, MappingError};

use crate::fault::{FILE_BYTES, file_of_sevens, truncate};

#[test]
fn a_buffer_outlives_the_mapping_it_was_taken_from() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "file");
    let mapping = Mapping::open(&path, None).expect("map");
    let buffer = mapping.buffer(64, 128).expect("in range");
    let whole = mapping.whole();
    assert_eq!(buffer.as_ptr(), mapping.as_ptr().wrapping_add(64), "no copy");
    assert!(mapping.contains(buffer.as_ptr(), 128) && mapping.contains(whole.as_ptr(), whole.len()));
    assert!(!mapping.contains(buffer.as_ptr(), FILE_BYTES));
    assert!(!mapping.contains(mapping.as_ptr().wrapping_sub(1), 1));
    let weak = Arc::downgrade(&mapping);
    drop((mapping, whole));
    std::fs::remove_file(&path).expect("a mapped file can be unlinked");
    assert_eq!(buffer.as_slice(), [7u8; 128]);
    drop(buffer);
    assert!(weak.upgrade().is_none(), "the last buffer unmaps");
}

#[test]
fn a_file_that_is_not_what_the_catalog_says_is_not_mapped() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = file_of_sevens(dir.path(), "file");
    let error = Mapping::open(&path, Some(FILE_BYTES as u64 + 1)).expect_err("too short");
    assert!(matches!(error, MappingError::Length { expected: 65537, found: 65536, .. }), "{error}");
    truncate(&path, 0);
    assert!(matches!(Mapping::open(&path, None), Err(MappingError::Empty { .. })));
    assert!(matches!(Mapping::open(dir.path(), None), Err(MappingError::NotAFile { .. })));
    let absent = dir.path().join("absent");
    let error = Mapping::open(&absent, None).expect_err("absent").to_string();
    assert!(error.contains("absent") && error.contains("No such file"), "{error}");
}

#[test]
fn slices_outside_the_file_are_errors() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mapping = Mapping::open(&file_of_sevens(dir.path(), "file"), None).expect("map");
    assert_eq!(mapping.slice(FILE_BYTES, 0).expect("empty at the end").len(), 0);
    for (offset, len) in [(FILE_BYTES, 1), (0, FILE_BYTES + 1), (usize::MAX, 2), (2, usize::MAX)] {
        assert!(matches!(mapping.slice(offset, len), Err(MappingError::OutOfBounds { .. })));
        assert!(matches!(mapping.buffer(offset, len), Err(MappingError::OutOfBounds { .. })));
    }
}
