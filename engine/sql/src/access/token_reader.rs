//! Reads the tokens of a statement one after the other.

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::significant_tokens::{is_word, significant};

pub struct TokenReader<'a> {
    tokens: Vec<&'a Token>,
    at: usize,
}

impl<'a> TokenReader<'a> {
    pub fn new(tokens: &'a [TokenWithSpan]) -> TokenReader<'a> {
        TokenReader { tokens: significant(tokens).map(|(_, token)| &token.token).collect(), at: 0 }
    }

    pub fn tokens(&self) -> impl Iterator<Item = &'a Token> + '_ {
        self.tokens.iter().copied()
    }

    /// Consumes these keywords if all of them come next.
    pub fn accept(&mut self, keywords: &[&str]) -> bool {
        let is_next = keywords.iter().enumerate().all(|(ahead, keyword)| self.ahead(ahead).is_some_and(|token| is_word(token, keyword)));
        if is_next {
            self.at += keywords.len();
        }
        is_next
    }

    pub fn accept_token(&mut self, wanted: &Token) -> bool {
        let is_next = self.ahead(0) == Some(wanted);
        if is_next {
            self.at += 1;
        }
        is_next
    }

    /// The normalized name: in lower case unless it is quoted.
    pub fn name(&mut self) -> Option<String> {
        let Some(Token::Word(word)) = self.ahead(0) else { return None };
        self.at += 1;
        match word.quote_style {
            None => Some(word.value.to_lowercase()),
            Some(_) => Some(word.value.clone()),
        }
    }

    pub fn names(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.accept_token(&Token::Comma) {
            names.push(self.name()?);
        }
        Some(names)
    }

    pub fn text(&mut self) -> Option<String> {
        let Some(Token::SingleQuotedString(text)) = self.ahead(0) else { return None };
        self.at += 1;
        Some(text.clone())
    }

    pub fn table(&mut self) -> Option<TableReference> {
        let mut parts = vec![self.name()?];
        while self.accept_token(&Token::Period) {
            parts.push(self.name()?);
        }
        match parts.as_slice() {
            [table] => Some(TableReference::bare(table.as_str())),
            [schema, table] => Some(TableReference::partial(schema.as_str(), table.as_str())),
            [catalog, schema, table] => Some(TableReference::full(catalog.as_str(), schema.as_str(), table.as_str())),
            _ => None,
        }
    }

    /// Whether only semicolons are left.
    pub fn end(&mut self) -> bool {
        while self.accept_token(&Token::SemiColon) {}
        self.ahead(0).is_none()
    }

    pub fn ahead(&self, distance: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + distance).copied()
    }
}
