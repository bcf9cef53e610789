//! Files in FROM: `FROM 'x.csv'` and `FROM read_csv('x.csv')`.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use engine::import::{FileScan, LoadMode, LoadOptions, ReadOptions};
use engine::{EngineOptions, ErrorKind};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::helpers::{Db, numbers, options, wait};

const FILES: [&str; 6] = ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.json", "t.arrow"];

/// The hundred rows of `t` in a file of each format.
fn with_files() -> Db {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100));
    for name in FILES {
        let options = if name == "t.tsv" { " (FORMAT csv, DELIMITER '\\t')" } else { "" };
        db.run(&format!("COPY t TO '{}'{options}", db.file(name)));
    }
    db
}

fn function_of(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("parquet") => "read_parquet",
        Some("json") => "read_json",
        Some("arrow") => "read_arrow",
        _ => "read_csv",
    }
}

#[test]
fn a_file_has_the_same_columns_and_rows_in_from_as_external_table_and_after_its_import() {
    let db = with_files();
    for name in FILES {
        let file = db.file(name);
        let scan = FileScan::open(std::slice::from_ref(&file), ReadOptions::default()).unwrap();
        let load = LoadOptions { namespace: "main".into(), table: "imported".into(), order_by: vec![], mode: LoadMode::Replace };
        wait(db.session.import(load, scan)).unwrap();
        let format = function_of(name).trim_start_matches("read_");
        db.run(&format!("CREATE OR REPLACE EXTERNAL TABLE e STORED AS {format} LOCATION '{file}'"));
        let all = |from: &str| (db.rows(&format!("DESCRIBE SELECT * FROM {from}")), db.rows(&format!("SELECT * FROM {from} ORDER BY id")));
        let imported = all("imported");
        assert_eq!(imported.1.len(), 100);
        for from in [format!("'{file}'"), format!("{}('{file}')", function_of(name)), "e".to_string()] {
            assert_eq!(all(&from), imported, "{from}");
        }
    }
}

#[test]
fn only_the_columns_and_rows_that_a_query_names_are_handed_out() {
    let db = with_files();
    for name in FILES {
        let file = db.file(name);
        assert_eq!(db.rows(&format!("SELECT count(*) FROM '{file}'")), ["100"], "{name}");
        assert_eq!(db.rows(&format!("SELECT s FROM '{file}' WHERE id = 7")), ["this is the text of row number 00000007"], "{name}");
        assert_eq!(db.rows(&format!("SELECT k, id FROM '{file}' LIMIT 2")).len(), 2, "{name}");
        assert_eq!(db.rows(&format!("SELECT id FROM '{file}' WHERE k = 3 AND id < 20 ORDER BY id")), ["3", "13"], "{name}");
    }
}

#[test]
fn a_file_is_called_by_its_name_up_to_the_first_dot() {
    let db = with_files();
    let (csv, parquet) = (db.file("t.csv.gz"), db.file("t.parquet"));
    assert_eq!(db.rows(&format!("SELECT max(t.id) FROM '{csv}'")), ["99"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM '{csv}' AS a JOIN '{parquet}' AS b ON a.id = b.id + 1")), ["99"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM '{parquet}' a, '{parquet}' b WHERE a.id = b.id")), ["100"]);
    assert_eq!(db.rows(&format!("FROM '{csv}' WHERE id = 1")), ["1|1|7919|this is the text of row number 00000001"]);
    assert_eq!(db.rows(&format!("DESCRIBE '{csv}'")), db.rows(&format!("DESCRIBE SELECT * FROM '{csv}'")));
}

#[test]
fn patterns_directories_and_lists_of_files_are_one_table() {
    let db = Db::new();
    fs::create_dir(db.file("d")).unwrap();
    let (one, two) = (db.file("d/one.csv"), db.file("d/two.csv"));
    fs::write(&one, "a,b\n1,x\n").unwrap();
    fs::write(&two, "b,a,c\ny,2.5,2024-01-31\n").unwrap();
    let dir = db.file("d");
    for from in [format!("'{dir}/*.csv'"), format!("'{dir}/'"), format!("read_csv(['{one}', '{two}'])"), format!("read_csv('{dir}')")] {
        assert_eq!(db.rows(&format!("SELECT * FROM {from} ORDER BY a")), ["1.0|x|NULL", "2.5|y|2024-01-31"], "{from}");
    }
}

#[test]
fn values_in_the_names_of_directories_are_columns_on_request() {
    let db = Db::new();
    let dir = db.file("d");
    for (place, row) in
        [("y=2024/m=01", "1,x"), ("y=2024/m=02", "2,y"), ("y=2025/m=01", "3,z"), ("y=__HIVE_DEFAULT_PARTITION__/m=01", "4,w")]
    {
        fs::create_dir_all(format!("{dir}/{place}")).unwrap();
        fs::write(format!("{dir}/{place}/f.csv"), format!("a,b\n{row}\n")).unwrap();
    }
    let all = ["1|x|2024|01", "2|y|2024|02", "3|z|2025|01", "4|w|NULL|01"];
    let read = format!("read_csv('{dir}', hive_partitioning = true)");
    assert_eq!(db.rows(&format!("SELECT * FROM {read} ORDER BY a")), all);
    assert_eq!(db.rows(&format!("SELECT m, a FROM {read} WHERE y > 2024")), ["01|3"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM {read} WHERE m = '01' AND y IS NULL")), ["1"]);
    assert_eq!(db.rows(&format!("SELECT * FROM read_csv('{dir}') ORDER BY a")), ["1|x", "2|y", "3|z", "4|w"]);
    for columns in ["STORED AS CSV PARTITIONED BY (y, m)", "(a BIGINT, b VARCHAR, y INT, m VARCHAR) STORED AS CSV PARTITIONED BY (y, m)"] {
        db.run(&format!("CREATE OR REPLACE EXTERNAL TABLE e {columns} LOCATION '{dir}'"));
        assert_eq!(db.rows("SELECT * FROM e ORDER BY a"), all, "{columns}");
        assert_eq!(db.rows("SELECT b FROM e WHERE y = 2025"), ["z"], "{columns}");
    }
    // In any order, and with the types of the columns.
    let columns = "(m VARCHAR, a BIGINT, y INT, b VARCHAR)";
    db.run(&format!("CREATE EXTERNAL TABLE declared {columns} STORED AS CSV LOCATION '{dir}' OPTIONS ('hive_partitioning' 'true')"));
    db.run(&format!("CREATE TABLE copied {columns}"));
    assert_eq!(db.rows(&format!("COPY copied FROM '{dir}' (FORMAT csv, HIVE_PARTITIONING true)")), ["4"]);
    for table in ["declared", "copied"] {
        assert_eq!(db.rows(&format!("SELECT a, b, y, m FROM {table} ORDER BY a")), all, "{table}");
    }
    // Where the column has no NULLs, and where the file has no names.
    let nameless = db.file("nameless");
    fs::create_dir_all(format!("{nameless}/m=a%20b")).unwrap();
    fs::write(format!("{nameless}/m=a%20b/f.csv"), "5,v\n").unwrap();
    db.run("CREATE TABLE strict (a BIGINT, m VARCHAR NOT NULL, b VARCHAR)");
    db.run(&format!("COPY strict FROM '{dir}/y=2025' (FORMAT csv, HIVE_PARTITIONING true)"));
    db.run(&format!("COPY strict FROM '{nameless}' (FORMAT csv, HEADER false, HIVE_PARTITIONING true)"));
    assert_eq!(db.rows("SELECT * FROM strict ORDER BY a"), ["3|01|z", "5|a b|v"]);
    // A file that the filter leaves out is not read.
    fs::write(format!("{dir}/y=2025/m=01/f.csv"), "a,b\n3,z\n4\n").unwrap();
    assert_eq!(db.rows("SELECT a FROM e WHERE y = 2024 ORDER BY a"), ["1", "2"]);
    db.error("SELECT count(*) FROM e");
    let error =
        db.error(&format!("CREATE EXTERNAL TABLE x (a BIGINT, b VARCHAR, m DATE) STORED AS CSV PARTITIONED BY (m) LOCATION '{dir}'"));
    assert!(error.to_string().contains("\"01\" is not a valid DATE"), "{error}");
}

#[test]
fn options_are_named_with_any_of_the_three_signs() {
    let db = Db::new();
    let file = db.file("x.txt");
    fs::write(&file, "1;'a;b';-\n2;c;3\n").unwrap();
    for sign in ["=", ":=", "=>"] {
        let options = format!("header {sign} false, delim {sign} ';', quote {sign} '''', nullstr {sign} ['-', 'none']");
        assert_eq!(db.rows(&format!("SELECT * FROM read_csv('{file}', {options})")), ["1|a;b|NULL", "2|c|3"], "{sign}");
    }
    let error = db.error(&format!("SELECT * FROM read_csv('{file}', heeder = true)"));
    assert_eq!(error.to_string(), "files have no option \"heeder\"");
    assert_eq!(error.hint(), Some("did you mean header?"));
    let error = db.error(&format!("SELECT * FROM read_csv('{file}', header = 3)"));
    assert_eq!(error.to_string(), "the option header is true or false, and not \"3\"");
    db.run("CREATE TABLE t (a BIGINT)");
    for sql in [
        format!("SELECT * FROM read_csv('{file}', header = 'maybe')"),
        format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{file}' OPTIONS ('header' 'maybe')"),
        format!("COPY t FROM '{file}' (HEADER maybe)"),
    ] {
        assert_eq!(db.error(&sql).to_string(), "the option header is true or false, and not \"maybe\"", "{sql}");
    }
    for (options, error) in [
        ("(DELIM [',', ';'])", "the option delim has one value, and no list"),
        ("(HEADER false, NULL ['-', 'none'], DELIM maybe)", "the option delim is one ASCII character, and not \"maybe\""),
    ] {
        assert_eq!(db.error(&format!("COPY t FROM '{file}' {options}")).to_string(), error);
    }
    let error = db.error(&format!("SELECT * FROM read_csv('{file}', types = {{'a': 'INT'}}, columns = {{'a': 'INT'}})"));
    assert!(error.to_string().starts_with("the option columns stands beside"), "{error}");
    let error = db.error(&format!("SELECT * FROM read_json('{file}', header = true)"));
    assert_eq!(error.to_string(), "the option header of files that are not CSV is not supported");
    assert_eq!(db.error(&format!("COPY t FROM '{file}' (HEADER true, FORMAT json)")).to_string(), error.to_string());
    assert_eq!(db.error("SELECT * FROM read_csv()").to_string(), "read_csv takes a path, and options by their names");
    assert_eq!(db.error("SELECT * FROM read_csv(1)").to_string(), "read_csv takes a path, or a list of paths");
}

#[test]
fn a_row_that_is_no_row_is_an_error_or_left_out_on_request() {
    let db = Db::new();
    let file = db.file("x.csv");
    fs::write(&file, "a,b\n1,2\n3\n4,5\n").unwrap();
    let error = db.error(&format!("SELECT * FROM '{file}'")).to_string();
    assert!(error.contains("x.csv, line 3: it has 1 field instead of 2"), "{error}");
    assert_eq!(db.rows(&format!("SELECT * FROM read_csv('{file}', ignore_errors = true)")), ["1|2", "4|5"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM read_csv('{file}', ignore_errors = true)")), ["2"]);
}

#[test]
fn a_value_of_a_column_that_is_not_read_is_no_error() {
    let db = Db::new();
    let file = db.file("x.csv");
    fs::write(&file, "a,b\n1,x\n2,3\n").unwrap();
    db.run(&format!("CREATE EXTERNAL TABLE e (a INT, b INT) STORED AS CSV LOCATION '{file}'"));
    assert_eq!(db.rows("SELECT sum(a) FROM e"), ["3"]);
    let error = db.error("SELECT sum(b) FROM e").to_string();
    assert!(error.contains("line 2, column \"b\": \"x\" is not a valid INTEGER"), "{error}");
}

/// Ten row groups of a hundred rows.
fn with_row_groups(db: &Db) -> String {
    let path = db.file("groups.parquet");
    let batch = numbers(0, 1000);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100)).build();
    let mut writer = ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn a_filter_on_row_groups_keeps_the_right_rows() {
    let db = Db::new();
    let file = with_row_groups(&db);
    db.load("t", &[], &numbers(0, 1000));
    for condition in [
        "id = 250",
        "id > 898",
        "id < 0",
        "id BETWEEN 99 AND 100",
        "id IN (5, 505, 5005)",
        "id <> 7",
        "k = 3 AND id > 500",
        "id IS NULL",
        "id IS NOT NULL",
        "NOT (id < 990)",
        "s = 'x' OR id = 4",
        "s LIKE '%0000099_'",
        "id + 1 = 1000",
        "id > 10.5 AND id < 12.5",
    ] {
        let rows = |table: &str| db.rows(&format!("SELECT id FROM {table} WHERE {condition} ORDER BY id"));
        assert_eq!(rows(&format!("'{file}'")), rows("t"), "{condition}");
    }
    assert_eq!(db.rows(&format!("SELECT count(*), sum(id) FROM '{file}'")), ["1000|499500"]);
}

#[test]
fn a_row_group_without_a_row_for_the_filter_is_not_read() {
    let db = Db::new();
    let path = with_row_groups(&db);
    let (start, length) = {
        let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
        reader.metadata().row_group(5).column(0).byte_range()
    };
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(start)).unwrap();
    file.write_all(&vec![0xff; length as usize]).unwrap();
    assert!(db.error(&format!("SELECT sum(id) FROM '{path}'")).to_string().contains("is damaged or cut short"));
    assert_eq!(db.rows(&format!("SELECT sum(id) FROM '{path}' WHERE id < 500")), ["124750"]);
    assert_eq!(db.rows(&format!("SELECT count(s) FROM '{path}'")), ["1000"]);
}

#[test]
fn a_table_or_a_query_of_that_name_comes_before_the_file() {
    let db = Db::new();
    let file = db.file("x.csv");
    fs::write(&file, "a\n1\n").unwrap();
    assert_eq!(db.rows(&format!("SELECT * FROM \"{file}\"")), ["1"]);
    assert_eq!(db.rows(&format!("WITH \"{file}\" AS (SELECT 2 AS a) SELECT * FROM \"{file}\"")), ["2"]);
    db.run(&format!("CREATE TABLE \"{file}\" AS SELECT 3 AS a"));
    assert_eq!(db.rows(&format!("SELECT * FROM '{file}'")), ["3"]);
    db.run("CREATE TABLE \"no such file.csv\" (a INT)");
    assert_eq!(db.rows("SELECT count(*) FROM 'no such file.csv'"), ["0"]);
}

#[test]
fn files_go_into_tables_and_through_views_and_no_rows_into_files() {
    let db = with_files();
    let file = db.file("t.parquet");
    db.run(&format!("CREATE TABLE copied AS SELECT id, s FROM '{file}' WHERE k = 5"));
    db.run(&format!("INSERT INTO copied SELECT id, s FROM read_parquet('{file}') WHERE k = 6"));
    assert_eq!(db.rows("SELECT count(*), min(id), max(id) FROM copied"), ["20|5|96"]);
    db.run(&format!("CREATE VIEW v AS SELECT max(t.id) AS m FROM '{file}'"));
    assert_eq!(db.rows("SELECT m FROM v"), ["99"]);
    let db = db.reopened();
    assert_eq!(db.rows("SELECT m FROM v"), ["99"]);
    db.error(&format!("INSERT INTO '{file}' SELECT * FROM t"));
    assert_eq!(db.rows(&format!("SELECT count(*) FROM '{file}'")), ["100"]);
}

#[test]
fn what_is_no_file_is_said_as_an_import_says_it() {
    let db = Db::new();
    let missing = db.file("missing.csv");
    for from in [format!("'{missing}'"), format!("read_csv('{missing}')"), format!("read_csv(['{missing}'])")] {
        let error = db.error(&format!("SELECT * FROM {from}")).to_string();
        assert!(error.starts_with(&format!("there is no file {missing}: check the path")), "{error}");
    }
    let error = db.error("SELECT * FROM 'https://example.org/x.csv'").to_string();
    assert!(error.contains("Quiver reads local files, download it first"), "{error}");
    let file = db.file("x.parquet");
    fs::write(&file, "a,b\n1,2\n").unwrap();
    let error = db.error(&format!("SELECT * FROM '{file}'")).to_string();
    assert!(error.contains("claims to be Parquet but is delimited text"), "{error}");
}

#[test]
fn some_columns_of_a_csv_file_of_several_batches_are_read() {
    let db = Db::new();
    let file = db.file("long.csv");
    db.run(&format!("COPY (SELECT value AS a, value AS b FROM generate_series(1, 40000)) TO '{file}'"));
    assert_eq!(db.rows(&format!("SELECT count(*), max(b) FROM '{file}'")), ["40000|40000"]);
}

#[test]
fn instants_of_files_are_in_the_zone_of_the_session() {
    let db = Db::new();
    let file = db.file("x.csv");
    fs::write(&file, "at\n2024-01-01T12:00:00Z\n").unwrap();
    db.run("SET TIME ZONE 'Europe/Berlin'");
    assert_eq!(db.rows(&format!("SELECT at FROM '{file}'")), ["2024-01-01T13:00:00+01:00"]);
    assert_eq!(db.rows(&format!("SELECT at FROM read_csv('{file}')")), ["2024-01-01T13:00:00+01:00"]);
}

#[test]
fn only_files_in_the_directories_of_the_engine_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    for name in ["open", "closed"] {
        fs::create_dir(path(name)).unwrap();
        fs::write(path(&format!("{name}/x.csv")), "a\n1\n").unwrap();
    }
    for link in ["open/link.csv", "open/[l].csv"] {
        std::os::unix::fs::symlink(path("closed/x.csv"), path(link)).unwrap();
    }
    let db = Db::with(EngineOptions { file_dirs: Some(path("open").into()), ..options() });
    db.run("CREATE TABLE t (a BIGINT)");
    let open = path("open");
    assert_eq!(db.rows(&format!("SELECT * FROM '{open}/x.csv'")), ["1"]);
    assert_eq!(db.rows(&format!("SELECT * FROM read_csv('{open}/../open/x.*')")), ["1"]);
    db.run(&format!("COPY t FROM '{open}/x.csv'"));
    db.run(&format!("COPY t TO '{open}/new.csv'"));
    let patterns = ["closed/*.csv", "open/*/../../closed/*.csv", "open/.*/closed/nothing*", "open/[l].csv"];
    let files = ["closed/x.csv", "closed/nothing.csv", "open/../closed/x.csv", "open/link.csv", "closed/"];
    for file in patterns.into_iter().chain(files) {
        let file = path(file);
        for sql in [
            format!("SELECT * FROM '{file}'"),
            format!("SELECT * FROM read_csv('{file}')"),
            format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{file}'"),
            format!("CREATE EXTERNAL TABLE e (a BIGINT, p INT) STORED AS CSV PARTITIONED BY (p) LOCATION '{file}'"),
            format!("COPY t FROM '{file}'"),
            format!("COPY t TO '{file}' (FORMAT csv)"),
        ] {
            let error = db.error(&sql);
            assert_eq!(error.kind(), ErrorKind::Denied, "{sql}: {error}");
        }
    }
    assert_eq!(fs::read_to_string(path("closed/x.csv")).unwrap(), "a\n1\n");
}
