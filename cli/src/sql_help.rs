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
