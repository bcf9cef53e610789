//! What is no data file, or a damaged one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Decimal128Array, Int32Array, ListArray, RecordBatch, StringArray, Time64MicrosecondArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, TimestampSecondType};
use engine::export::open_export;

use engine::import::FileScan;

use super::{Files, error_of, open, read, skipping};
use crate::foreign_forms::{big_endian, big_endian_below, with_version};

#[test]
fn what_is_not_there_or_not_a_data_file_is_said_in_one_sentence() {
    let files = Files::new();
    let missing = files.path("no.csv").to_str().unwrap().to_owned();
    let empty_dir = files.path("empty");
    fs::create_dir(&empty_dir).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for (paths, expected) in [
        (vec![], "no file was given"),
        (vec![missing], "there is no file"),
        (vec![text(&files.path("*.nothing"))], "no file matches"),
        (vec![text(&empty_dir)], "holds no Parquet, CSV, JSON or Arrow file"),
        (vec!["/dev/null".to_owned()], "is not a regular file"),
        (vec!["https://example.org/a.csv".to_owned()], "remote address"),
        (vec![files.add("empty.csv", "")], "is empty"),
        (vec![files.add("blank.csv", "\n \n")], "is empty"),
        (vec![files.add("notes.md", "just words\nmore words\n")], "cannot tell what"),
        (vec![files.add("a.parquet", "a,b\n1,2\n")], "claims to be Parquet but is delimited text"),
        (vec![files.add("a.csv", b"PAR1xxxx")], "claims to be CSV but is Parquet"),
        (vec![files.add("b.csv", b"a\0b\n")], "claims to be CSV but is binary data"),
        (vec![files.add("c.csv", b"\xff\xfea\0,\0")], "UTF-16"),
        (vec![files.add("d.csv", "{\"a\": 1}\n")], "claims to be CSV but is JSON"),
        (vec![files.add("a.json", "a,b\n1,2\n")], "claims to be JSON but is delimited text"),
        (vec![files.add("e.csv", "<html><body>")], "an HTML page"),
        (vec![files.add("b.parquet", b"PAR1 and not more")], "its end is missing"),
        (vec![files.add("a.arrow", b"ARROW1\0\0 and not more")], "its end is missing"),
        (vec![files.add("f.csv.bz2", b"BZh91AY")], "bzip2"),
    ] {
        let error = error_of(&paths);
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new();
    let path = files.add("a.csv", "a\n1\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    if fs::File::open(&path).is_err() {
        assert!(error_of(&[path]).contains("no permission to read"));
    }
}

#[test]
fn flipped_and_missing_bytes_of_binary_files_never_panic() {
    let files = Files::new();
    let names: Arc<dyn Array> = Arc::new(StringArray::from(vec![Some("abc"), None, Some("ü")]));
    let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2, 3])) as Arc<dyn Array>), ("s", names)]).unwrap();
    for name in ["a.parquet", "a.arrow"] {
        let path = files.path(name);
        let mut export = open_export(&path, None, &batch.schema()).unwrap();
        export.write(&batch).unwrap();
        export.finish().unwrap();
        let good = fs::read(&path).unwrap();
        // Every byte on its own, and every length: an error or rows, but no panic and no abort.
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            let flipped = files.add(name, &bad);
            let _ = open(&[flipped]).map(read);
            if at % 7 == 0 {
                let cut = files.add(name, &good[..at]);
                assert!(!error_of(&[cut]).is_empty());
            }
        }
    }
}

#[test]
fn arrow_data_of_a_foreign_form_is_refused_and_not_read_as_other_values() {
    let files = Files::new();
    let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2, 3])) as Arc<dyn Array>)]).unwrap();
    let mut stream = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let stream = stream.into_inner().unwrap();
    assert_eq!(read(open(&[files.add("good.arrows", &stream)]).unwrap()).unwrap().num_rows(), 3);
    let length = u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    let changed = |change: fn(&[u8]) -> Vec<u8>| {
        let mut message = change(&stream[8..8 + length]);
        message.resize(message.len().next_multiple_of(8), 0);
        [[0xff_u8; 4].as_slice(), &(message.len() as u32).to_le_bytes(), &message, &stream[8 + length..]].concat()
    };
    let with_version_6 = changed(|message| with_version(message, 5));
    let forms = [
        (changed(big_endian), "its numbers are big-endian"),
        (with_version_6, "its metadata has version 6"),
        (changed(|message| with_version(message, 2)), "version 3"),
    ];
    for (bytes, expected) in forms {
        let error = error_of(&[files.add("foreign.arrows", &bytes)]);
        assert!(error.contains("cannot be read: its") && error.contains(expected) && error.contains("write it again"), "{error}");
    }
    let mut file = arrow::ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let file = file.into_inner().unwrap();
    let (length_at, end) = (file.len() - 10, file.len() - 6);
    let footer_bytes = u32::from_le_bytes(file[length_at..end].try_into().unwrap()) as usize;
    // The version is the first field of a footer, too, and the schema the second one.
    let footer = &file[length_at - footer_bytes..length_at];
    for (footer, expected) in [(with_version(footer, 5), "version 6"), (big_endian_below(footer, 1), "big-endian")] {
        let bytes = [&file[..length_at - footer_bytes], &footer, &(footer.len() as u32).to_le_bytes(), b"ARROW1"].concat();
        let error = error_of(&[files.add("foreign.arrow", &bytes)]);
        assert!(error.contains("cannot be read: its") && error.contains(expected), "{error}");
    }
}

#[test]
fn values_in_a_file_that_are_not_of_their_type_are_named_and_can_be_left_out() {
    let files = Files::new();
    let decimals: ArrayRef = Arc::new(Decimal128Array::from(vec![1, -1000, 3, 999]).with_precision_and_scale(3, 0).unwrap());
    let item = Arc::new(Field::new("item", decimals.data_type().clone(), true));
    let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1, 1, 0, 2]), Arc::clone(&decimals), None));
    let times: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![0, 86_400_000_000, 1, 2]));
    for (name, column) in
        [("d.arrow", &decimals), ("d.parquet", &decimals), ("l.arrow", &lists), ("t.arrow", &times), ("t.parquet", &times)]
    {
        let path = files.path(name);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
        let batch = RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("c", Arc::clone(column), true)]).unwrap();
        let mut export = open_export(&path, None, &batch.schema()).unwrap();
        export.write(&batch).unwrap();
        export.finish().unwrap();
        let path = path.to_str().unwrap().to_owned();
        let error = error_of(std::slice::from_ref(&path));
        assert!(
            error.contains("row 2") && error.contains("column \"c\"") && (error.contains("-1000") || error.contains("86400000000")),
            "{error}"
        );
        let scan = FileScan::open(&[path], skipping()).unwrap();
        let progress = scan.progress();
        let rows = read(scan).unwrap();
        assert_eq!((rows.num_rows(), progress.rows_skipped()), (3, 1), "{name}");
    }
}

#[test]
fn a_file_with_a_time_zone_that_there_is_not_is_refused_before_it_is_read() {
    let files = Files::new();
    let path = files.path("z.arrow");
    let times: ArrayRef = Arc::new(arrow::array::PrimitiveArray::<TimestampSecondType>::from(vec![0]).with_timezone("Nowhere/No"));
    let batch = RecordBatch::try_from_iter_with_nullable([("z", times, true)]).unwrap();
    let mut writer = arrow::ipc::writer::FileWriter::try_new(fs::File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let error = open(&[path.to_str().unwrap().to_owned()]).err().unwrap().to_string();
    assert!(error.contains("column \"z\"") && error.contains("\"Nowhere/No\""), "{error}");
}
