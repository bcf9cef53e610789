//! Tables over files that stay where they are.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int32Array, RecordBatch};
use engine::export::open_export;

use super::foreign_forms::big_endian;
use super::helpers::{Db, numbers};

const FORMATS: [&str; 4] = ["PARQUET", "CSV", "JSON", "ARROW"];

/// The hundred rows of `t` in a file of each format.
fn with_files() -> Db {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100));
    for format in FORMATS {
        let file = db.file(&format!("t.{}", format.to_lowercase()));
        db.run(&format!("COPY t TO '{file}' STORED AS {format}"));
    }
    db
}

fn create(db: &Db, name: &str, format: &str) -> String {
    let options = if format == "CSV" { " OPTIONS ('format.has_header' 'true')" } else { "" };
    format!("CREATE EXTERNAL TABLE {name} STORED AS {format} LOCATION '{}'{options}", db.file(&format!("t.{}", format.to_lowercase())))
}

#[test]
fn files_of_every_format_are_read_in_place_also_after_reopening() {
    let db = with_files();
    for format in FORMATS {
        db.run(&create(&db, &format!("e_{format}"), format));
    }
    let check = |db: &Db| {
        for format in FORMATS {
            let name = format!("e_{}", format.to_lowercase());
            assert_eq!(
                db.rows(&format!("SELECT count(*), sum(id), max(s) FROM {name}")),
                ["100|4950|this is the text of row number 00000099"],
                "{format}"
            );
            assert_eq!(
                db.rows(&format!("SELECT t.id FROM {name} AS e JOIN t ON t.id = e.id WHERE e.k = 3 AND t.id < 20 ORDER BY 1")),
                ["3", "13"]
            );
        }
    };
    check(&db);
    check(&db.reopened());
}

#[test]
fn an_external_table_is_listed_described_and_dropped_as_a_table() {
    let db = with_files();
    db.run(&create(&db, "e", "PARQUET"));
    assert_eq!(db.rows("SHOW TABLES"), ["main|e|BASE TABLE", "main|t|BASE TABLE"]);
    assert_eq!(db.run("DESCRIBE e").row_count(), 4);
    assert_eq!(db.session.tables().unwrap()[0].kind, "external");
    db.run("DROP TABLE e");
    assert_eq!(db.session.table_names(), ["t"]);
    assert!(std::path::Path::new(&db.file("t.parquet")).exists(), "the files stay");
}

#[test]
fn an_external_table_that_exists_is_kept_or_an_error() {
    let db = with_files();
    db.run(&create(&db, "e", "PARQUET"));
    db.error(&create(&db, "e", "CSV"));
    db.error(&create(&db, "t", "CSV"));
    let statement = create(&db, "IF NOT EXISTS e", "CSV");
    db.run(&statement);
    assert_eq!(db.value("SELECT count(*) FROM e"), "100");
}

#[test]
fn rows_can_be_taken_from_files_into_a_table_and_through_a_view() {
    let db = with_files();
    db.run(&create(&db, "e", "CSV"));
    db.script("CREATE TABLE copied AS SELECT id, s FROM e WHERE k = 5; CREATE VIEW v AS SELECT max(id) AS m FROM e");
    assert_eq!(db.rows("SELECT count(*), min(s) FROM copied"), ["10|this is the text of row number 00000005"]);
    assert_eq!(db.rows("SELECT m FROM v"), ["99"]);
}

#[test]
fn an_external_table_lives_in_its_schema() {
    let db = with_files();
    db.run("CREATE SCHEMA files");
    db.run(&create(&db, "files.e", "PARQUET"));
    assert_eq!(db.value("SELECT count(*) FROM files.e"), "100");
    db.error("SELECT count(*) FROM e");
}

#[test]
fn an_external_table_without_its_file_says_which_is_missing() {
    let db = with_files();
    let error = db.error(&format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{}'", db.file("missing.csv"))).to_string();
    assert!(error.contains("missing.csv"), "{error}");
    db.run(&create(&db, "e", "PARQUET"));
    std::fs::remove_file(db.file("t.parquet")).unwrap();
    let error = db.error("SELECT * FROM e").to_string();
    assert!(error.contains("t.parquet") || error.contains("\"e\""), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "100");
}

#[test]
fn an_unknown_kind_of_file_is_refused() {
    let db = with_files();
    let error = db.error(&format!("CREATE EXTERNAL TABLE e STORED AS AVRO LOCATION '{}'", db.file("t.csv"))).to_string();
    assert!(error.contains("AVRO"), "{error}");
    let wrong = format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{}'", db.file("t.csv"));
    if db.try_run(&wrong).is_ok() {
        db.error("SELECT * FROM e");
    }
}

#[test]
fn a_filter_on_an_external_table_keeps_the_right_rows() {
    let db = with_files();
    for format in FORMATS {
        db.run(&create(&db, "e", format));
        assert_eq!(db.rows("SELECT id FROM e WHERE id > 97 OR s LIKE '%00' ORDER BY id"), ["0", "98", "99"], "{format}");
        db.run("DROP TABLE e");
    }
}

#[test]
fn a_decimal_of_a_file_with_more_digits_than_its_type_comes_into_no_table() {
    let db = Db::new();
    let file = db.file("wide.parquet");
    let values = Decimal128Array::from(vec![1, 1000]).with_precision_and_scale(3, 0).unwrap();
    let batch = RecordBatch::try_from_iter_with_nullable([("d", Arc::new(values) as ArrayRef, true)]).unwrap();
    let mut export = open_export(std::path::Path::new(&file), None, &batch.schema()).unwrap();
    export.write(&batch).unwrap();
    export.finish().unwrap();
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{file}'"));
    let error = db.error("CREATE TABLE t AS SELECT d FROM e").to_string();
    assert!(error.contains("\"d\"") && error.contains("1000 does not fit DECIMAL(3,0)"), "{error}");
    assert!(db.try_run("SELECT * FROM t").is_err());
}

#[test]
fn a_file_that_is_one_array_is_a_table_as_after_an_import() {
    let db = Db::new();
    let file = db.file("events.json");
    let object = "{\"id\": \"0\", \"type\": \"PushEvent\"}";
    std::fs::write(&file, format!("[{}]", vec![object; 5_000].join(",\n"))).unwrap();
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS JSON LOCATION '{file}'"));
    assert_eq!(db.rows("SELECT type, count(*), min(id) FROM e GROUP BY type"), ["PushEvent|5000|0"]);
}

/// DataFusion's reader of streams looked at neither, and had -129 for 2147483647.
#[test]
fn arrow_files_of_a_foreign_form_are_refused_also_when_they_come_later() {
    let db = Db::new();
    let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef)]).unwrap();
    let mut stream = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let stream = stream.into_inner().unwrap();
    let length = u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    let mut message = big_endian(&stream[8..8 + length]);
    message.resize(message.len().next_multiple_of(8), 0);
    let foreign = [[0xff_u8; 4].as_slice(), &(message.len() as u32).to_le_bytes(), &message, &stream[8 + length..]].concat();
    let file = db.file("n.arrow");
    let create = format!("CREATE EXTERNAL TABLE n STORED AS ARROW LOCATION '{file}'");
    std::fs::write(&file, &foreign).unwrap();
    let error = db.error(&create).to_string();
    assert!(error.contains("its numbers are big-endian"), "{error}");
    std::fs::write(&file, &stream).unwrap();
    db.run(&create);
    assert_eq!(db.rows("SELECT sum(n) FROM n"), ["6"]);
    std::fs::write(&file, &foreign).unwrap();
    let error = db.error("SELECT sum(n) FROM n").to_string();
    assert!(error.contains("its numbers are big-endian"), "{error}");
}
