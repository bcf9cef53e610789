//! `\h`: one line of syntax per statement. The whole language is in the user documentation.

const STATEMENTS: &[(&str, &str)] = &[
    (
        "SELECT",
        "SELECT [DISTINCT] expr [AS name], … FROM table [JOIN table ON …] [WHERE …] [GROUP BY …] [HAVING …] [WINDOW …] [ORDER BY …] [LIMIT n] [OFFSET n]",
    ),
    ("WITH", "WITH [RECURSIVE] name AS (SELECT …) SELECT …"),
    ("VALUES", "VALUES (expr, …), …"),
    (
        "CREATE TABLE",
        "CREATE TABLE [IF NOT EXISTS] name (column type [NOT NULL] [DEFAULT expr] [PRIMARY KEY | UNIQUE] [CHECK (…)], …) [ORDER BY (column, …)] [WITH (option = value)]",
    ),
    ("CREATE TABLE AS", "CREATE [OR REPLACE] TABLE name AS SELECT …"),
    (
        "ALTER TABLE",
        "ALTER TABLE name ADD | DROP | RENAME | ALTER COLUMN … | ADD | DROP CONSTRAINT … | RENAME TO name | SET ORDER BY (column, …) | SET (option = value), …",
    ),
    ("CREATE EXTERNAL TABLE", "CREATE EXTERNAL TABLE name STORED AS PARQUET|CSV|JSON|ARROW LOCATION 'path' [OPTIONS (…)]"),
    ("CREATE VIEW", "CREATE [OR REPLACE] VIEW name AS SELECT …"),
    (
        "CREATE FUNCTION",
        "CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] name (parameter type, …) RETURNS type [STRICT] RETURN expr | LANGUAGE wasm AS BLOB b [SYMBOL 'name'] | LANGUAGE python AS $$ source $$ | RETURNS TABLE [(column type, …)] RETURN SELECT …",
    ),
    (
        "CREATE AGGREGATE",
        "CREATE [OR REPLACE] AGGREGATE [IF NOT EXISTS] name (parameter type, …) RETURNS type LANGUAGE wasm AS BLOB b [SYMBOL 'name'] | LANGUAGE python AS $$ source $$",
    ),
    (
        "CREATE PROCEDURE",
        "CREATE [OR REPLACE] PROCEDURE [IF NOT EXISTS] name (parameter type, …) BEGIN statement; … END | [RETURNS TABLE (column type, …)] LANGUAGE python AS $$ source $$",
    ),
    ("CALL", "CALL procedure (expr, …)"),
    ("DROP FUNCTION", "DROP FUNCTION|AGGREGATE|PROCEDURE [IF EXISTS] name [(type, …)]"),
    ("CREATE SCHEMA", "CREATE SCHEMA [IF NOT EXISTS] name"),
    ("INSERT", "INSERT INTO table [(column, …)] VALUES (…), … | SELECT …"),
    (
        "COPY FROM",
        "COPY table FROM 'file' [(option, …)], where an option is: FORMAT parquet|csv|json|arrow, IGNORE_ERRORS true, HIVE_PARTITIONING true, and of CSV: HEADER true|false, DELIMITER ';', QUOTE '\"', ESCAPE '\\', COMMENT '#', SKIP n, NULL 'NA', DATE_FORMAT '%d.%m.%Y', DECIMAL ',', ENCODING 'latin-1', ALL_VARCHAR true",
    ),
    (
        "COPY TO",
        "COPY table | (SELECT …) TO 'file' [(option, …)], where an option is: FORMAT parquet|csv|json|arrow, and of CSV: HEADER true|false, DELIMITER ';'; the end of the name compresses: .csv.gz, .json.zst",
    ),
    ("DROP", "DROP TABLE|VIEW|SCHEMA|SNAPSHOT [IF EXISTS] name"),
    ("FOR VERSION", "SELECT … FROM table FOR VERSION AS OF n | 'snapshot' [AS alias]"),
    ("FOR SYSTEM_TIME", "SELECT … FROM table FOR SYSTEM_TIME AS OF time [AS alias]"),
    ("CREATE SNAPSHOT", "CREATE SNAPSHOT [IF NOT EXISTS] name"),
    ("RESTORE TABLE", "RESTORE TABLE table TO VERSION n | SNAPSHOT name | TIMESTAMP time"),
    ("EXPIRE VERSIONS", "EXPIRE VERSIONS BEFORE VERSION n | OLDER THAN INTERVAL '7 days'"),
    ("ALTER SYSTEM", "ALTER SYSTEM SET retention = '7 days' | ALTER SYSTEM RESET retention"),
    ("OPTIMIZE TABLE", "OPTIMIZE TABLE table [FULL]"),
    ("CHECKPOINT", "CHECKPOINT"),
    ("FLUSH", "FLUSH"),
    (
        "TAG",
        "TAG TABLE | VIEW | ARRAY | GROUP | BLOB | FUNCTION name, … SET (tag = value, …) | TAG OBJECTS WHERE condition SET (…) | TAG OBJECTS FROM query",
    ),
    ("UNTAG", "UNTAG TABLE | VIEW | ARRAY | GROUP | BLOB | FUNCTION name, … (tag, …) | ALL | UNTAG OBJECTS WHERE condition (tag, …) | ALL"),
    (
        "FIND",
        "FIND OBJECTS | TABLES | VIEWS | ARRAYS | GROUPS | BLOBS | FUNCTIONS [IN GROUP g] [WHERE condition] [ORDER BY tag [DESC], …] [LIMIT n] [INTO GROUP g]",
    ),
    ("CREATE GROUP", "CREATE GROUP [IF NOT EXISTS] g [IN h] [WITH TAGS (tag = value, …)]"),
    ("ALTER GROUP", "ALTER GROUP g ADD | REMOVE TABLE t, … | RENAME TO h | SET (read_only = true)"),
    ("DROP GROUP", "DROP GROUP [IF EXISTS] g [CASCADE]"),
    ("PUBLISH GROUP", "PUBLISH GROUP g | UNPUBLISH GROUP g"),
    ("COPY BLOB", "COPY BLOB b FROM 'file' [WITH TAGS (…)] | TO 'file' | COPY BLOBS FROM query"),
    ("DROP BLOB", "DROP BLOB [IF EXISTS] b"),
    ("COMMENT ON", "COMMENT ON TABLE | VIEW | ARRAY | GROUP | BLOB | FUNCTION name IS 'text' | NULL"),
    ("BACKUP", "BACKUP TO 'directory' [COPY]"),
    ("DESCRIBE", "DESCRIBE table | 'file' | SELECT …"),
    ("SUMMARIZE", "SUMMARIZE table | 'file' | SELECT …"),
    ("SHOW", "SHOW TABLES | SHOW SNAPSHOTS | SHOW COLUMNS FROM table | SHOW ALL | SHOW setting"),
    ("EXPLAIN", "EXPLAIN [ANALYZE] [VERBOSE] statement"),
    ("SET", "SET setting = value"),
];

/// The syntax of the statements whose name starts with `topic`; `None` when there is none.
pub fn text(topic: Option<&str>) -> Option<String> {
    let Some(topic) = topic else {
        let names: Vec<&str> = STATEMENTS.iter().map(|(name, _)| *name).collect();
        return Some(format!("\\h STATEMENT shows the syntax of one of:\n  {}\n", names.join("\n  ")));
    };
    let topic = topic.to_ascii_uppercase();
    let fitting = STATEMENTS.iter().filter(|(name, _)| name.starts_with(&topic));
    let lines: Vec<String> = fitting.map(|(name, syntax)| format!("{name}\n  {syntax}\n")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
