//! PRIMARY KEY, UNIQUE, CHECK and NOT NULL hold for every row, however it gets into its table.

use std::collections::BTreeSet;

use engine::EngineError;

use super::helpers::{Db, Random, run, wait};

fn fails(db: &Db, sql: &str, expected: &str) {
    let error = db.error(sql).to_string();
    assert_eq!(error, expected, "{sql}");
}

#[test]
fn a_primary_key_is_there_once_and_never_null() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY, name varchar)");
    db.run("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    fails(
        &db,
        "INSERT INTO t VALUES (3, 'three'), (2, 'again')",
        "row 2 of the rows being written has the key (id) = (2), which \"t\" has already; that breaks PRIMARY KEY (id), constraint \"t_pkey\"",
    );
    fails(
        &db,
        "INSERT INTO t VALUES (5, 'a'), (6, 'b'), (5, 'c')",
        "rows 1 and 3 of the rows being written to \"t\" have the same key (id) = (5), which breaks PRIMARY KEY (id), constraint \"t_pkey\"",
    );
    db.error("INSERT INTO t VALUES (NULL, 'none')");
    assert!(matches!(db.error("INSERT INTO t (name) SELECT 'none'"), EngineError::NotNull { .. }));
    assert_eq!(db.rows("SELECT * FROM t ORDER BY id"), ["1|one", "2|two"]);
    let db = db.reopened();
    db.error("INSERT INTO t VALUES (1, 'again')");
    db.run("INSERT INTO t VALUES (3, 'three')");
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
}

#[test]
fn unique_columns_differ_but_where_they_are_null() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int UNIQUE, b varchar, c int, UNIQUE (b, c))");
    db.run("INSERT INTO t VALUES (1, 'x', 1), (NULL, 'x', NULL), (NULL, 'x', NULL), (2, NULL, 1), (3, NULL, 1)");
    fails(
        &db,
        "INSERT INTO t VALUES (9, 'x', 1)",
        "row 1 of the rows being written has the key (b, c) = (x, 1), which \"t\" has already; that breaks UNIQUE (b, c), constraint \"t_b_c_key\"",
    );
    db.error("INSERT INTO t VALUES (1, 'z', 1)");
    db.run("INSERT INTO t VALUES (NULL, 'x', NULL), (9, 'x', 2), (10, 'y', 1)");
    assert_eq!(db.value("SELECT count(*) FROM t"), "8");
}

#[test]
fn keys_of_every_type_are_equal_as_sql_has_it() {
    let db = Db::new();
    for (number, (data_type, value, same, other)) in [
        ("tinyint", "1", "1", "2"),
        ("bigint unsigned", "18446744073709551615", "18446744073709551615", "0"),
        ("double", "0.0", "-0.0", "0.1"),
        ("double", "'NaN'", "'nan'", "'inf'"),
        ("real", "1.5", "1.50", "1.25"),
        ("decimal(9,2)", "1.5", "1.50", "1.51"),
        ("decimal(30,2)", "1.5", "1.50", "1.51"),
        ("varchar", "'a text of more than twelve bytes'", "'a text of more' || ' than twelve bytes'", "'a text of more than twelve byteS'"),
        ("varchar", "''", "''", "' '"),
        ("boolean", "true", "1 = 1", "false"),
        ("date", "'2024-02-29'", "'2024-02-29'", "'2024-03-01'"),
        ("timestamp", "'2024-01-01'", "'2024-01-01 00:00:00'", "'2024-01-01 00:00:01'"),
        ("bytea", "X'00FF'", "X'00FF'", "X'00FE'"),
        ("time", "'10:00:00'", "'10:00:00'", "'10:00:01'"),
    ]
    .into_iter()
    .enumerate()
    {
        db.run(&format!("CREATE TABLE t{number} (v {data_type} UNIQUE)"));
        db.run(&format!("INSERT INTO t{number} VALUES ({value})"));
        let error = db.error(&format!("INSERT INTO t{number} SELECT {same}")).to_string();
        assert!(error.contains("has already"), "{data_type} {same}: {error}");
        db.run(&format!("INSERT INTO t{number} SELECT {other}"));
        assert_eq!(db.value(&format!("SELECT count(*) FROM t{number}")), "2", "{data_type}");
    }
    for data_type in ["int[]", "STRUCT<a int>"] {
        let error = db.error(&format!("CREATE TABLE x (v {data_type} PRIMARY KEY)"));
        assert!(error.hint().is_some_and(|hint| hint.contains("keys are made of")), "{error}");
    }
}

#[test]
fn a_check_is_asked_for_every_row_and_null_passes_it() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int CHECK (a > 0), b int, CONSTRAINT ordered CHECK (a < b))");
    db.run("INSERT INTO t VALUES (1, 2), (NULL, 0), (5, NULL)");
    fails(
        &db,
        "INSERT INTO t VALUES (1, 2), (0, 2)",
        "row 2 of the rows being written to \"t\" breaks CHECK (a > 0), constraint \"t_a_check\": (a) = (0)",
    );
    fails(
        &db,
        "INSERT INTO t SELECT 3, 3",
        "row 1 of the rows being written to \"t\" breaks CHECK (a < b), constraint \"ordered\": (a, b) = (3, 3)",
    );
    let error = db.error("INSERT INTO t SELECT value, value + 1 FROM generate_series(20000, -5, -1) AS g(value)").to_string();
    // Which row it is depends on the order in which partitions come together.
    assert!(error.contains("of the rows being written to \"t\" breaks CHECK (a > 0)"), "{error}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "3");
    db.error("UPDATE t SET a = -1 WHERE b = 2");
    db.run("UPDATE t SET b = 20 WHERE b = 2");
    db.error("UPDATE t SET b = a WHERE b = 20");
    assert_eq!(db.sorted_rows("SELECT * FROM t"), ["1|20", "5|NULL", "NULL|0"]);
}

#[test]
fn a_check_means_what_it_would_in_a_query() {
    let db = Db::new();
    db.run("CREATE TABLE t (a bigint, s varchar, d decimal(9,2), f double, at timestamp, CHECK (lower(s) IN ('x', 'y')), CHECK (a * a < 1000000), CHECK (d BETWEEN 0 AND 9.99), CHECK (f = f AND f * d < 1e3), CHECK (at < now()))");
    db.run("INSERT INTO t VALUES (999, 'X', 9.99, 1.5, '2020-01-01'), (NULL, NULL, NULL, NULL, NULL)");
    for values in
        ["1000, 'x', 1, 1, NULL", "1, 'z', 1, 1, NULL", "1, 'x', 10, 1, NULL", "1, 'x', 9, 1e9, NULL", "1, 'x', 1, 1, '2200-01-01'"]
    {
        assert!(matches!(db.error(&format!("INSERT INTO t VALUES ({values})")), EngineError::Constraint { .. }), "{values}");
    }
    let overflow = db.error("INSERT INTO t VALUES (9223372036854775807, 'x', 1, 1, NULL)").to_string();
    assert!(overflow.contains("out of range"), "{overflow}");
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_check_that_is_no_condition_of_the_row_is_refused() {
    let db = Db::new();
    db.run("CREATE TABLE u (x int)");
    for (check, word) in [
        ("a + 1", "type"),
        ("a > (SELECT max(x) FROM u)", "subquery"),
        ("a IN (SELECT x FROM nothing)", "subquery"),
        ("sum(a) > 0", "aggregate"),
        ("random() < 0.5", "chance"),
        ("c > 0", "does not exist"),
        ("a > $1", "parameter"),
        ("row_number() OVER () > 1", "window"),
        ("nothing(a)", "function"),
        ("EXISTS (SELECT 1)", "subquery"),
    ] {
        let error = db.error(&format!("CREATE TABLE t (a int, CHECK ({check}))"));
        assert!(error.to_string().contains(word), "{check}: {error}");
        assert!(!matches!(error, EngineError::Internal(_)), "{check}: {error}");
    }
    assert_eq!(db.session.table_names(), ["u"]);
}

#[test]
fn a_key_is_free_again_when_its_row_is_gone() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    db.run("INSERT INTO t SELECT value, 0 FROM generate_series(1, 20000) AS g(value)");
    db.run("DELETE FROM t WHERE id = 7");
    db.run("INSERT INTO t VALUES (7, 1)");
    db.error("INSERT INTO t VALUES (7, 2)");
    db.run("UPDATE t SET v = 2 WHERE id = 7");
    db.error("INSERT INTO t VALUES (7, 2)");
    db.run("UPDATE t SET id = -id WHERE id < 100");
    db.run("INSERT INTO t VALUES (7, 3)");
    db.error("UPDATE t SET id = -8 WHERE id = 7");
    assert_eq!(db.rows("SELECT id, v FROM t WHERE abs(id) = 7 ORDER BY id"), ["-7|2", "7|3"]);
    db.run("TRUNCATE TABLE t");
    db.run("INSERT INTO t VALUES (-8, 1)");
    assert_eq!(db.rows("SELECT * FROM t"), ["-8|1"]);
}

#[test]
fn all_keys_can_move_up_by_one() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY)");
    db.run("INSERT INTO t SELECT value FROM generate_series(1, 20000) AS g(value)");
    db.run("UPDATE t SET id = id + 1");
    assert_eq!(db.rows("SELECT min(id), max(id), count(*) FROM t"), ["2|20001|20000"]);
    let error = db.error("UPDATE t SET id = id / 2").to_string();
    assert!(error.contains("have the same key (id) ="), "{error}");
    db.run("INSERT OVERWRITE t SELECT id FROM t WHERE id < 10");
    assert_eq!(db.value("SELECT count(*) FROM t"), "8");
    db.error("INSERT OVERWRITE t SELECT 1 FROM t");
    assert_eq!(db.value("SELECT count(*) FROM t"), "8");
}

#[test]
fn rows_of_the_same_transaction_count_and_those_it_deleted_do_not() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY)");
    db.run("INSERT INTO t VALUES (1)");
    db.script("BEGIN; INSERT INTO t VALUES (2)");
    db.error("INSERT INTO t VALUES (2)");
    db.run("ROLLBACK");
    db.script(
        "BEGIN; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2); COMMIT",
    );
    assert_eq!(db.rows("SELECT id FROM t ORDER BY id"), ["1", "2"]);
    db.script("BEGIN; INSERT INTO t VALUES (3); SAVEPOINT s");
    db.error("INSERT INTO t VALUES (3)");
    db.script("ROLLBACK TO SAVEPOINT s; INSERT INTO t VALUES (4); COMMIT");
    assert_eq!(db.value("SELECT count(*) FROM t"), "4");
    db.script("BEGIN; INSERT INTO t VALUES (5); ROLLBACK; INSERT INTO t VALUES (5)");
    assert_eq!(db.value("SELECT count(*) FROM t"), "5");
}

#[test]
fn of_two_transactions_that_write_one_key_the_second_fails() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY, who varchar)");
    db.run("INSERT INTO t SELECT value, 'old' FROM generate_series(1, 10000) AS g(value)");
    let other = db.engine.session().unwrap();
    let run = |sql: &str| wait(run(&other, sql));
    for (mine, theirs) in [
        ("INSERT INTO t VALUES (-1, 'mine')", "INSERT INTO t VALUES (-1, 'theirs')"),
        ("INSERT INTO t SELECT -value, 'mine' FROM generate_series(20000, 40000) AS g(value)", "INSERT INTO t VALUES (-30000, 'theirs')"),
        ("INSERT INTO t VALUES (-2, 'mine')", "INSERT INTO t SELECT -value, 'theirs' FROM generate_series(2, 15000) AS g(value)"),
        ("UPDATE t SET id = 20000 WHERE id = 1", "INSERT INTO t VALUES (20000, 'theirs')"),
    ] {
        db.script(&format!("BEGIN; {mine}"));
        run(theirs).unwrap();
        let error = db.error("COMMIT").to_string();
        assert!(error.starts_with("another transaction has given \"t\" the key (id) = "), "{mine}: {error}");
        assert!(error.ends_with("constraint \"t_pkey\""), "{error}");
    }
    assert_eq!(db.value("SELECT count(*) FROM t WHERE who = 'mine'"), "0");
    assert_eq!(db.rows("SELECT count(*) = count(DISTINCT id) FROM t"), ["true"]);
    db.script("BEGIN; INSERT INTO t VALUES (-50000, 'mine')");
    run("INSERT INTO t VALUES (-50001, 'theirs')").unwrap();
    run("DELETE FROM t WHERE id = 5").unwrap();
    db.run("COMMIT");
    assert_eq!(db.value("SELECT count(*) FROM t WHERE id <= -50000"), "2");
}

#[test]
fn writers_of_overlapping_keys_leave_each_key_once() {
    let db = Db::new();
    db.run("CREATE TABLE t (id int PRIMARY KEY, who int)");
    let sessions: Vec<_> = (0..4).map(|_| db.engine.session().unwrap()).collect();
    let written: usize = wait(async {
        let writers = sessions.iter().enumerate().map(|(who, session)| async move {
            let mut written = 0;
            for id in 0..40 {
                written += usize::from(run(session, &format!("INSERT INTO t VALUES ({id}, {who})")).await.is_ok());
            }
            written
        });
        futures::future::join_all(writers).await.into_iter().sum()
    });
    assert_eq!(written, 40);
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM t"), ["40|40|0|39"]);
}

#[test]
fn constraints_hold_for_rows_of_queries_and_files_too() {
    let db = Db::new();
    let file = db.file("rows.csv");
    std::fs::write(&file, "id,v\n1,5\n2,6\n2,7\n").unwrap();
    db.run("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 10))");
    assert!(db.error(&format!("COPY t FROM '{file}'")).to_string().contains("rows 2 and 3 of the rows being written"));
    std::fs::write(&file, "id,v\n1,5\n2,16\n").unwrap();
    assert!(matches!(db.error(&format!("COPY t FROM '{file}'")), EngineError::Constraint { .. }));
    assert_eq!(db.value("SELECT count(*) FROM t"), "0");
    db.error("CREATE TABLE u (id int PRIMARY KEY) AS SELECT value % 3 FROM generate_series(1, 10) AS g(value)");
    db.error("CREATE TABLE u (id int CHECK (id > 1)) AS SELECT value FROM generate_series(1, 10) AS g(value)");
    assert_eq!(db.session.table_names(), ["t"]);
    assert!(db.segment_files().is_empty(), "{:?}", db.segment_files());
    db.run("CREATE TABLE u (id int PRIMARY KEY, twice int UNIQUE) AS SELECT value, value * 2 FROM generate_series(1, 10) AS g(value)");
    db.error("INSERT INTO u VALUES (11, 20)");
    assert_eq!(db.value("SELECT count(*) FROM u"), "10");
}

#[test]
fn a_failed_insert_leaves_no_files() {
    let db = Db::new();
    db.run("CREATE TABLE t (id bigint PRIMARY KEY) ORDER BY (id)");
    db.run("INSERT INTO t SELECT value FROM generate_series(1, 100000) AS g(value)");
    let before = db.segment_files();
    db.error("INSERT INTO t SELECT value FROM generate_series(100000, 200000) AS g(value)");
    db.error("INSERT INTO t SELECT value % 50000 + 200000 FROM generate_series(1, 100000) AS g(value)");
    assert!(super::helpers::soon(|| db.segment_files() == before), "{:?}", db.segment_files());
    db.run("INSERT INTO t SELECT value FROM generate_series(100001, 200000) AS g(value)");
    assert_eq!(db.rows("SELECT count(*), count(DISTINCT id) FROM t"), ["200000|200000"]);
}

#[test]
fn random_keys_are_accepted_and_refused_as_a_set_says() {
    let db = Db::new();
    db.run("CREATE TABLE t (id bigint PRIMARY KEY, s varchar UNIQUE)");
    let (mut random, mut model) = (Random(20_261_120), BTreeSet::new());
    // Enough rows that a filter is worth it.
    db.run("INSERT INTO t SELECT value * 7919 % 100003, 'key ' || (value * 7919 % 100003) FROM generate_series(0, 59999) AS g(value)");
    model.extend((0..60_000i64).map(|value| value * 7_919 % 100_003));
    for step in 0..150 {
        let ids: Vec<i64> = (0..1 + random.below(3)).map(|_| random.below(100_003) as i64).collect();
        match random.below(4) {
            0 => {
                db.run(&format!("DELETE FROM t WHERE id = {}", ids[0]));
                model.remove(&ids[0]);
            }
            1 => {
                let done = db.try_run(&format!("UPDATE t SET id = {}, s = 'key {}' WHERE id = {}", ids[0], ids[0], ids[0] / 2));
                let old = ids[0] / 2;
                let allowed = !model.contains(&old) || old == ids[0] || !model.contains(&ids[0]);
                assert_eq!(done.is_ok(), allowed, "step {step}: {old} to {}", ids[0]);
                if allowed && model.remove(&old) {
                    model.insert(ids[0]);
                }
            }
            _ => {
                let values: Vec<String> = ids.iter().map(|id| format!("({id}, 'key {id}')")).collect();
                let done = db.try_run(&format!("INSERT INTO t VALUES {}", values.join(", ")));
                let distinct: BTreeSet<i64> = ids.iter().copied().collect();
                let allowed = distinct.len() == ids.len() && distinct.is_disjoint(&model);
                assert_eq!(done.is_ok(), allowed, "step {step}: {ids:?}");
                if allowed {
                    model.extend(distinct);
                }
            }
        }
    }
    let db = db.reopened();
    let expected = format!("{}|{}", model.len(), model.iter().sum::<i64>());
    assert_eq!(db.rows("SELECT count(DISTINCT id), sum(id) FROM t"), [expected]);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE s <> 'key ' || id"), "0");
}

#[test]
fn what_would_not_be_enforced_is_refused_in_every_form_and_makes_no_table() {
    let db = Db::new();
    db.run("CREATE TABLE parent (id int)");
    for columns in [
        "a int REFERENCES parent(id)",
        "a int GENERATED ALWAYS AS (1 + 1) STORED",
        "a int GENERATED ALWAYS AS IDENTITY",
        "a int GENERATED BY DEFAULT AS IDENTITY",
        "a int AUTO_INCREMENT",
        "a varchar COLLATE \"de\"",
        "a int, FOREIGN KEY (a) REFERENCES parent(id)",
        "a int, CONSTRAINT up FOREIGN KEY (a) REFERENCES parent(id)",
        "a int, INDEX by_a (a)",
        "a int CONSTRAINT named NOT NULL",
        "a int UNIQUE DEFERRABLE INITIALLY DEFERRED",
        "a int, UNIQUE NULLS NOT DISTINCT (a)",
        "a int, UNIQUE (a DESC)",
        "a int, UNIQUE (lower(a))",
        "a int CHECK (a > 0) NOT ENFORCED",
    ] {
        for form in [
            "CREATE TABLE t ({})",
            "CREATE TABLE IF NOT EXISTS t ({})",
            "CREATE OR REPLACE TABLE t ({})",
            "CREATE TABLE t ({}) AS SELECT 1 AS a",
        ] {
            let sql = form.replace("{}", columns);
            let error = db.error(&sql);
            assert!(matches!(error, EngineError::Unsupported { .. } | EngineError::Sql { .. }), "{sql}: {error}");
            assert!(!db.session.table_names().contains(&"t".to_owned()), "{sql}");
        }
        let error = db.error(&format!("CREATE TABLE t ({columns})"));
        assert!(error.hint().is_some() || error.to_string().contains("COLLATE"), "{columns}: {error}");
    }
    for columns in [
        "a int PRIMARY KEY, b int PRIMARY KEY",
        "a int PRIMARY KEY, PRIMARY KEY (a)",
        "a int, UNIQUE (a, a)",
        "a int, UNIQUE (b)",
        "a int, CONSTRAINT x UNIQUE (a), CONSTRAINT x CHECK (a > 0)",
        "a int NULL NOT NULL",
        "a int DEFAULT 1 DEFAULT 2",
    ] {
        db.error(&format!("CREATE TABLE t ({columns})"));
    }
    assert!(db.segment_files().is_empty());
    assert_eq!(db.session.table_names(), ["parent"]);
}

#[test]
fn a_definition_can_be_run_again_and_says_everything() {
    let db = Db::new();
    let columns = "k INTEGER NOT NULL, \"Order\" VARCHAR DEFAULT 'it''s', n BIGINT DEFAULT 1 + 2, moment TIMESTAMP DEFAULT now(), CONSTRAINT t_pkey PRIMARY KEY (k), CONSTRAINT \"my key\" UNIQUE (\"Order\", n), CONSTRAINT t_n_check CHECK (n > 0)";
    db.run(&format!("CREATE TABLE t ({columns}) ORDER BY (k) WITH (durability = 'async')"));
    let definition = db.rows("SHOW CREATE TABLE t").remove(0);
    let definition = &definition[definition.find("CREATE TABLE").unwrap()..];
    for part in columns.split(", CONSTRAINT").flat_map(|part| part.split(", moment")) {
        assert!(definition.replace('\n', " ").replace("   ", " ").contains(part.trim()), "{part}: {definition}");
    }
    let described = db.rows("DESCRIBE t");
    assert_eq!(
        described,
        [
            "k|INTEGER|NO|NULL|PRIMARY KEY",
            "Order|VARCHAR|YES|'it''s'|UNIQUE",
            "n|BIGINT|YES|1 + 2|UNIQUE",
            "moment|TIMESTAMP|YES|now()|NULL"
        ]
    );
    db.run("DROP TABLE t");
    db.run(definition);
    assert_eq!(db.rows("DESCRIBE t"), described);
    assert!(db.rows("SHOW CREATE TABLE t")[0].ends_with(definition));
}

#[test]
fn made_up_names_of_constraints_are_their_own() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int CHECK (a > 0) CHECK (a < 9) UNIQUE UNIQUE, b int, CHECK (a < b), CHECK (true))");
    let definition = db.rows("SHOW CREATE TABLE t").remove(0);
    for name in ["t_a_check ", "t_a_check1 ", "t_a_key ", "t_a_key1 ", "t_check ", "t_check1 "] {
        assert!(definition.contains(&format!("CONSTRAINT {name}")), "{name}: {definition}");
    }
}
