//! The parts of `\copy`. Pure: tested in `tests/suite`.

use super::lexer::{self, Kind};

#[derive(Debug, PartialEq, Eq)]
pub struct CopyCommand {
    /// A table, perhaps with columns, or a query in parentheses.
    pub relation: String,
    pub direction: Direction,
    pub file: CopyFile,
    /// What follows the file.
    pub options: String,
}

impl CopyCommand {
    /// The same as a statement.
    pub fn statement(&self, path: &str) -> String {
        let direction = match self.direction {
            Direction::From => "FROM",
            Direction::To => "TO",
        };
        format!("COPY {} {direction} '{}' {}", self.relation, path.replace('\'', "''"), self.options).trim_end().to_string()
    }

    /// The schema and the name of the table, as SQL reads them. The error is a sentence for the user.
    pub fn table(&self) -> Result<(String, String), String> {
        let tokens = lexer::tokens(&self.relation);
        let name = |token: &lexer::Token| {
            let text = &self.relation[token.start..token.end];
            match token.kind {
                Kind::Word => Some(text.to_ascii_lowercase()),
                Kind::QuotedName => Some(text.strip_prefix('"')?.strip_suffix('"')?.replace("\"\"", "\"")),
                _ => None,
            }
        };
        let is_dot = |token: &lexer::Token| &self.relation[token.start..token.end] == ".";
        let names = match tokens.as_slice() {
            [table] => name(table).map(|table| ("main".to_string(), table)),
            [schema, dot, table] if is_dot(dot) => name(schema).zip(name(table)),
            _ => None,
        };
        names.ok_or_else(|| format!("\\copy to a server takes the name of a table, and not {}", self.relation))
    }

    /// The query of the rows to write.
    pub fn query(&self) -> String {
        let query = self.relation.strip_prefix('(').and_then(|relation| relation.strip_suffix(')'));
        query.map_or_else(|| format!("SELECT * FROM {}", self.relation), str::to_string)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    From,
    To,
}

#[derive(Debug, PartialEq, Eq)]
pub enum CopyFile {
    /// Standard input or output.
    Standard,
    Path(String),
}

/// Reads what follows `\copy`. The error is a sentence for the user.
pub fn parse(text: &str) -> Result<CopyCommand, String> {
    let text = text.trim_end_matches(';').trim();
    let mut depth = 0;
    for token in lexer::tokens(text) {
        let word = &text[token.start..token.end];
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        let direction = match word.to_ascii_uppercase().as_str() {
            "FROM" => Direction::From,
            "TO" => Direction::To,
            _ => continue,
        };
        let relation = text[..token.start].trim();
        let (file, options) = file_and_options(text[token.end..].trim_start());
        if depth == 0 && token.kind == Kind::Word && !relation.is_empty() && !file.is_empty() {
            let file = match file.to_ascii_lowercase().as_str() {
                "stdin" | "stdout" => CopyFile::Standard,
                _ => CopyFile::Path(file),
            };
            return Ok(CopyCommand { relation: relation.to_string(), direction, file, options });
        }
    }
    Err("\\copy needs a table and a file: \\copy TABLE FROM 'FILE' or \\copy TABLE | (QUERY) TO 'FILE'".to_string())
}

/// The file may stand in quotes.
fn file_and_options(text: &str) -> (String, String) {
    let quoted = lexer::tokens(text).first().filter(|token| token.kind == Kind::Text && text.starts_with('\'')).map(|token| token.end);
    let end = quoted.or_else(|| text.find(char::is_whitespace)).unwrap_or(text.len());
    let file = match quoted {
        Some(_) => text[..end].trim_matches('\'').replace("''", "'"),
        None => text[..end].to_string(),
    };
    (file, text[end..].trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Direction, CopyFile, String) {
        let copy = parse(text).unwrap();
        (copy.relation, copy.direction, copy.file, copy.options)
    }

    #[test]
    fn a_table_or_a_query_and_a_file_are_found() {
        let path = |name: &str| CopyFile::Path(name.to_string());
        assert_eq!(parts("t from 'a b.csv' (header true)"), ("t".into(), Direction::From, path("a b.csv"), "(header true)".into()));
        assert_eq!(parts("t (a, b) FROM x.csv;"), ("t (a, b)".into(), Direction::From, path("x.csv"), String::new()));
        let query = "(select a from t where s = 'to')";
        assert_eq!(parts(&format!("{query} to 'it''s.json'")), (query.into(), Direction::To, path("it's.json"), String::new()));
        assert_eq!(parts("t to stdout"), ("t".into(), Direction::To, CopyFile::Standard, String::new()));
    }

    #[test]
    fn it_is_a_statement_or_a_query_too() {
        let copy = parse("(select 'a') to x.csv (header false)").unwrap();
        assert_eq!(copy.statement("it's"), "COPY (select 'a') TO 'it''s' (header false)");
        assert_eq!(copy.query(), "select 'a'");
        let copy = parse("t from x.csv").unwrap();
        assert_eq!((copy.statement("x.csv"), copy.query()), ("COPY t FROM 'x.csv'".into(), "SELECT * FROM t".into()));
    }

    #[test]
    fn a_table_is_named_as_in_sql() {
        let table = |relation: &str| parse(&format!("{relation} from x.csv")).unwrap().table();
        let names = |schema: &str, name: &str| Ok((schema.to_string(), name.to_string()));
        assert_eq!(table("Flights"), names("main", "flights"));
        assert_eq!(table("raw.\"My \"\"Table\""), names("raw", "My \"Table"));
        for relation in ["t (a, b)", "a.b.c", "(select 1)", "'t'"] {
            assert!(table(relation).unwrap_err().contains(relation));
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_syntax() {
        for text in ["", "t", "from 'x'", "t from", "(select a from t)"] {
            assert!(parse(text).unwrap_err().contains("\\copy TABLE FROM"), "{text}");
        }
    }
}
