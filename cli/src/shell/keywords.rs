//! The words the highlighter colours and the completer offers. Sorted: looked up by bisection.

pub const KEYWORDS: &[&str] = &[
    "ALL", "ALTER", "ANALYZE", "AND", "ANTI", "ANY", "ARRAY", "AS", "ASC", "BETWEEN", "BIGINT",
    "BOOLEAN", "BY", "CASE", "CAST", "CLUSTER", "COLUMN", "COPY", "CREATE", "CROSS", "CUBE",
    "CURRENT", "CURRENT_DATE", "CURRENT_TIMESTAMP", "DATE", "DECIMAL", "DEFAULT", "DELETE", "DESC",
    "DESCRIBE", "DISTINCT", "DOUBLE", "DROP", "ELSE", "END", "ESCAPE", "EXCEPT", "EXISTS",
    "EXPLAIN", "EXTERNAL", "EXTRACT", "FALSE", "FILTER", "FIRST", "FLOAT", "FOLLOWING", "FOR",
    "FORMAT", "FROM", "FULL", "GROUP", "GROUPING", "HAVING", "IF", "ILIKE", "IN", "INNER",
    "INSERT", "INT", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LAST", "LATERAL",
    "LEFT", "LIKE", "LIMIT", "LOCATION", "NATURAL", "NOT", "NULL", "NULLS", "OFFSET", "ON",
    "OPTIONS", "OR", "ORDER", "OUTER", "OVER", "OVERLAPS", "PARTITION", "PRECEDING", "PRECISION",
    "QUALIFY", "RANGE", "REAL", "RECURSIVE", "RENAME", "REPLACE", "RESET", "RIGHT", "ROLLUP",
    "ROW", "ROWS", "SCHEMA", "SELECT", "SEMI", "SET", "SETS", "SHOW", "SIMILAR", "SMALLINT",
    "STORED", "TABLE", "TABLES", "TEMPORARY", "TEXT", "THEN", "TIME", "TIMESTAMP", "TINYINT", "TO",
    "TRUE", "UNBOUNDED", "UNION", "UNNEST", "UPDATE", "USING", "VALUES", "VARCHAR", "VERBOSE",
    "VIEW", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN", "ZONE",
];

pub fn is_keyword(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    KEYWORDS.binary_search(&word.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_bisection_finds_every_word() {
        assert!(KEYWORDS.is_sorted());
        assert!(is_keyword("select") && is_keyword("Zone") && !is_keyword("flights"));
    }
}
