//! Recognises `INSERT INTO [schema.]table [(columns)] VALUES (literals), …`, and nothing else, from tokens.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Word};

use super::literal::Literal;
use super::tokens::plain_tokens;

/// Longer statements are planned, which then takes less time than the write.
const SQL_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, PartialEq)]
pub struct InsertValues {
    pub schema: Option<String>,
    pub table: String,
    /// `None`: all columns, in their order.
    pub columns: Option<Vec<String>>,
    /// All rows have the same length.
    pub rows: Vec<Vec<Literal>>,
}

impl InsertValues {
    pub fn reference(&self) -> TableReference {
        match &self.schema {
            Some(schema) => TableReference::partial(schema.as_str(), self.table.as_str()),
            None => TableReference::bare(self.table.as_str()),
        }
    }
}

/// `None` for any other statement, and for an incorrect one.
pub fn insert_values(sql: &str) -> Option<InsertValues> {
    let first_word = sql.trim_start().as_bytes().get(..6)?;
    if !first_word.eq_ignore_ascii_case(b"insert") || sql.len() > SQL_BYTES_MAX {
        return None;
    }
    let tokens = match plain_tokens(sql) {
        Some(tokens) => tokens,
        None => Tokenizer::new(&GenericDialect {}, sql).tokenize().ok()?,
    };
    let mut tokens = Tokens(tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).peekable());
    tokens.keyword("INSERT")?;
    tokens.keyword("INTO")?;
    let (mut schema, mut table) = (None, tokens.name()?);
    if tokens.takes(&Token::Period) {
        schema = Some(std::mem::replace(&mut table, tokens.name()?));
    }
    let columns = if tokens.takes(&Token::LParen) { Some(tokens.list(Tokens::name)?) } else { None };
    tokens.keyword("VALUES")?;
    let mut rows: Vec<Vec<Literal>> = Vec::new();
    loop {
        tokens.takes(&Token::LParen).then_some(())?;
        let row = tokens.list(Tokens::literal)?;
        rows.first().is_none_or(|first| first.len() == row.len()).then_some(())?;
        rows.push(row);
        if !tokens.takes(&Token::Comma) {
            break;
        }
    }
    tokens.takes(&Token::SemiColon);
    tokens.0.peek().is_none().then_some(InsertValues { schema, table, columns, rows })
}

struct Tokens<I: Iterator<Item = Token>>(std::iter::Peekable<I>);

impl<I: Iterator<Item = Token>> Tokens<I> {
    fn takes(&mut self, token: &Token) -> bool {
        self.0.next_if_eq(token).is_some()
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        let is_it = |word: &Word| word.quote_style.is_none() && word.value.eq_ignore_ascii_case(keyword);
        self.0.next_if(|token| matches!(token, Token::Word(word) if is_it(word))).map(|_| ())
    }

    /// A name as it is compared: in lower case if it is not quoted.
    fn name(&mut self) -> Option<String> {
        match self.0.next()? {
            Token::Word(Word { value, quote_style: None, .. }) => Some(value.to_ascii_lowercase()),
            Token::Word(Word { value, quote_style: Some('"'), .. }) => Some(value),
            _ => None,
        }
    }

    /// The rest of a list after its opening parenthesis.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut list = vec![one(self)?];
        while self.takes(&Token::Comma) {
            list.push(one(self)?);
        }
        self.takes(&Token::RParen).then_some(list)
    }

    fn literal(&mut self) -> Option<Literal> {
        let is_negative = self.takes(&Token::Minus);
        match self.0.next()? {
            Token::Number(digits, false) => Literal::number(&digits, is_negative),
            Token::SingleQuotedString(text) if !is_negative => Some(Literal::Text(text)),
            Token::Word(Word { value, quote_style: None, .. }) if !is_negative => Literal::word(&value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_read() {
        let statement = insert_values(" insert INTO Main.\"T\" (A, \"b C\") values (1, 'it''s'), (-2.50, NULL) ;").unwrap();
        assert_eq!((statement.schema.as_deref(), statement.table.as_str()), (Some("main"), "T"));
        assert_eq!(statement.columns, Some(vec!["a".to_string(), "b C".to_string()]));
        let decimal = Literal::Decimal { unscaled: -250, scale: 2 };
        assert_eq!(statement.rows, [vec![Literal::Integer(1), Literal::Text("it's".into())], vec![decimal, Literal::Null]]);
    }

    #[test]
    fn whatever_is_not_plainly_values_is_left_to_the_parser() {
        for sql in [
            "INSERT INTO t SELECT 1",
            "INSERT INTO t VALUES (1 + 1)",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "INSERT INTO t VALUES (1) RETURNING a",
            "INSERT INTO t VALUES (1), (1, 2)",
            "INSERT INTO t VALUES (1); SELECT 1",
            "INSERT INTO t VALUES (DEFAULT)",
            "INSERT INTO t VALUES ($1)",
            "INSERT INTO t VALUES (1e3)",
            "INSERT INTO t VALUES (E'a')",
            "INSERT INTO t VALUES (- 'a')",
            "INSERT INTO t VALUES ()",
            "INSERT INTO t () VALUES (1)",
            "INSERT INTO a.b.c VALUES (1)",
            "INSERT OVERWRITE t VALUES (1)",
            "INSERT INTO t AS x VALUES (1)",
            "INSERT INTO t VALUES (1",
            "INSERT INTO t VALUES",
            "insert",
            "ins",
        ] {
            assert_eq!(insert_values(sql), None, "{sql}");
        }
    }
}
