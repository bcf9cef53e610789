//! Procedures: several statements in one transaction.

use crate::helpers::{Db, run, wait};

fn with_accounts() -> Db {
    let db = Db::new();
    db.script("CREATE TABLE accounts (name VARCHAR PRIMARY KEY, amount BIGINT CHECK (amount >= 0)); CREATE TABLE moves (a VARCHAR, b VARCHAR, amount BIGINT)");
    db.run("INSERT INTO accounts VALUES ('ann', 100), ('bob', 50)");
    db.run(
        "CREATE PROCEDURE pay(payer VARCHAR, payee VARCHAR, amount BIGINT) BEGIN
            INSERT INTO moves (a, b, amount) VALUES (payer, payee, amount);
            UPDATE accounts SET amount = accounts.amount + pay.amount WHERE name = payee;
            UPDATE accounts SET amount = accounts.amount - pay.amount WHERE name = payer;
            SELECT sum(CASE WHEN name = payer THEN accounts.amount END) AS left_over FROM accounts;
        END",
    );
    db
}

#[test]
fn a_call_changes_several_tables_and_returns_the_last_rows() {
    let db = with_accounts();
    assert_eq!(db.rows("CALL pay('ann', 'bob', 30)"), ["70"]);
    assert_eq!(db.rows("SELECT * FROM accounts ORDER BY name"), ["ann|70", "bob|80"]);
    assert_eq!(db.rows("SELECT * FROM moves"), ["ann|bob|30"]);
    let db = db.reopened();
    assert_eq!(db.rows("CALL pay('bob', 'ann', 20 + 60)"), ["0"]);
}

#[test]
fn a_call_that_fails_changes_nothing() {
    let db = with_accounts();
    let error = db.error("CALL pay('ann', 'bob', 101)").to_string();
    assert!(error.contains("amount"), "{error}");
    assert_eq!(db.rows("SELECT * FROM accounts ORDER BY name"), ["ann|100", "bob|50"]);
    assert_eq!(db.value("SELECT count(*) FROM moves"), "0");
    // The session is in no transaction.
    db.run("INSERT INTO moves VALUES ('a', 'b', 1)");
    db.error("ROLLBACK");
}

#[test]
fn a_call_in_a_transaction_is_part_of_it() {
    let db = with_accounts();
    db.run("BEGIN");
    db.run("CALL pay('ann', 'bob', 30)");
    assert_eq!(db.value("SELECT amount FROM accounts WHERE name = 'ann'"), "70");
    db.run("ROLLBACK");
    assert_eq!(db.value("SELECT amount FROM accounts WHERE name = 'ann'"), "100");
    db.run("BEGIN");
    db.error("CALL pay('ann', 'bob', 1000)");
    db.error("SELECT 1");
    db.run("ROLLBACK");
}

#[test]
fn a_procedure_may_make_tables_and_use_its_own() {
    let db = Db::new();
    db.run(
        "CREATE OR REPLACE PROCEDURE fill(n BIGINT) BEGIN ATOMIC
            CREATE TABLE made (a BIGINT);
            INSERT INTO made SELECT * FROM range(n);
            DELETE FROM made WHERE a = n - 1;
        END;",
    );
    assert_eq!(db.rows("CALL fill(5)"), ["1"]);
    assert_eq!(db.value("SELECT count(*) FROM made"), "4");
    let error = db.error("CALL fill(5)").to_string();
    assert!(error.contains("made"), "{error}");
}

/// The values of parameters are values: no text of theirs becomes a part of a statement.
#[test]
fn values_are_not_text() {
    let db = with_accounts();
    db.run("CALL pay('ann', '''); DROP TABLE moves; --', 1)");
    assert_eq!(db.rows("SELECT b FROM moves"), ["'); DROP TABLE moves; --"]);
}

#[test]
fn parameters_of_a_call_may_be_those_of_a_statement() {
    let db = with_accounts();
    let description = wait(db.session.describe("CALL pay($1, $2, $3)")).unwrap();
    assert_eq!(description.parameters.fields().len(), 3);
    assert_eq!(description.schema.field(0).name(), "left_over");
    let values = db.run("SELECT 'ann' AS a, 'bob' AS b, 7::BIGINT AS c").batches[0].clone();
    let output = wait(db.session.execute_with("CALL pay($1, $2, $3)", &values, 0)).unwrap();
    let (rows, _) = wait(output.collect()).unwrap();
    assert_eq!(crate::helpers::rows_of(&rows[0]), ["93"]);
}

#[test]
fn two_calls_at_once_leave_the_sum_as_it_was() {
    let db = with_accounts();
    let pay = |session: &engine::Session, sql: &str| (0..20).for_each(|_| drop(wait(run(session, sql)).unwrap()));
    std::thread::scope(|scope| {
        for sql in ["CALL pay('ann', 'bob', 2)", "CALL pay('bob', 'ann', 1)"] {
            let session = db.engine.session().unwrap();
            scope.spawn(move || pay(&session, sql));
        }
    });
    assert_eq!(db.rows("SELECT * FROM accounts ORDER BY name"), ["ann|80", "bob|70"]);
    assert_eq!(db.value("SELECT count(*) FROM moves"), "40");
}

#[test]
fn wrong_procedures_say_what_is_wrong() {
    let db = with_accounts();
    for (sql, message) in [
        ("CALL nothing()", "procedure nothing does not exist"),
        ("CALL pay('ann')", "pay(VARCHAR, VARCHAR, BIGINT)"),
        ("CALL pay('ann', 'bob', 'many')", "the argument amount"),
        ("CALL pay('ann', 'bob', 30.9)", "the argument amount of pay(VARCHAR, VARCHAR, BIGINT) is"),
        ("CREATE OR REPLACE PROCEDURE pay(a BIGINT, b BIGINT, c BIGINT) BEGIN SELECT 1; END", "takes as many arguments"),
        ("CREATE PROCEDURE p() BEGIN SELECT 1 END", "semicolon"),
        ("CREATE PROCEDURE p() BEGIN RESET threads; END", "RESET"),
        ("CREATE PROCEDURE p() BEGIN SAVEPOINT s; END", "SAVEPOINT"),
        ("CREATE PROCEDURE p() BEGIN CREATE FUNCTION f() RETURNS INT RETURN 1; END", "CREATE FUNCTION"),
        ("CREATE PROCEDURE p() BEGIN COMMIT; END", "COMMIT"),
        ("CREATE PROCEDURE p() BEGIN SET threads = 1; END", "SET"),
        ("CREATE PROCEDURE p() BEGIN GRANT SELECT ON t TO bob; END", "GRANT SELECT in a procedure"),
        ("CREATE PROCEDURE p() BEGIN SELEC 1; END", "SELEC"),
        ("CREATE PROCEDURE p() BEGIN END", "a statement between BEGIN and END"),
        ("CREATE PROCEDURE p() RETURN 1", "BEGIN"),
        ("SELECT * FROM pay('a', 'b', 1)", "is a procedure"),
        ("CREATE FUNCTION pay(a INT) RETURNS INT RETURN a", "there is a procedure"),
        ("DROP FUNCTION pay", "does not exist"),
    ] {
        let error = db.error(sql);
        let shown = format!("{error} {:?}", error.hint());
        assert!(shown.contains(message), "{sql}: {shown}");
    }
    db.run("DROP PROCEDURE pay(VARCHAR, VARCHAR, BIGINT)");
    assert!(db.error("CALL pay('ann', 'bob', 1)").to_string().contains("does not exist"));
}

/// The argument was read before the transaction began, so a commit in between was no conflict, and its change was lost.
#[test]
fn what_the_arguments_read_is_read_in_the_transaction() {
    let db = Db::new();
    db.script("CREATE TABLE c AS SELECT 0::BIGINT AS n; CREATE PROCEDURE set_n(v BIGINT) BEGIN UPDATE c SET n = v; END");
    let (db, done) = (&db, std::sync::atomic::AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let session = db.engine.session().unwrap();
            let done = &done;
            scope.spawn(move || {
                for _ in 0..30 {
                    if wait(run(&session, "CALL set_n((SELECT n + 1 FROM c))")).is_ok() {
                        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(db.value("SELECT n FROM c"), done.into_inner().to_string());
}

#[test]
fn procedures_may_call_others_up_to_a_depth() {
    let db = Db::new();
    db.run("CREATE PROCEDURE q(n BIGINT) BEGIN SELECT n, n + 1 AS next, 'x' || n; END");
    db.run("CREATE PROCEDURE p(n BIGINT) BEGIN CALL q(n * 2); END");
    assert_eq!(db.rows("CALL p(4)"), ["8|9|x8"]);
    let schema = db.run("CALL q(1)").batches[0].schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["n", "next", "'x' || n"]);
    db.run("CREATE PROCEDURE again() BEGIN CALL again(); END");
    assert!(db.error("CALL again()").to_string().contains("procedures call each other"));
    assert_eq!(db.rows("CALL p(1)"), ["2|3|x2"]);
}
