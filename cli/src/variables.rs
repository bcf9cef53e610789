//! The variables of `\set`, which SQL names as `:name`, `:'name'` and `:"name"`. Pure: tested in `tests/suite`.

use std::collections::BTreeMap;

use super::lexer::{self, Kind, Token};

#[derive(Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Without a value, the variable is removed.
    pub fn set(&mut self, name: String, value: Option<String>) -> Result<(), String> {
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("'{name}' cannot be the name of a variable: it takes letters, digits and _"));
        }
        match value {
            Some(value) => self.0.insert(name, value),
            None => self.0.remove(&name),
        };
        Ok(())
    }

    /// A line for each variable.
    pub fn list(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
        if lines.is_empty() { "there are no variables".to_string() } else { lines.join("\n") }
    }

    /// The text with the values of variables. As in psql, a name that is no variable stays, because it may be a part of an array: `a[1:n]`.
    pub fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let tokens = if self.0.is_empty() { Vec::new() } else { lexer::tokens(text) };
        let mut end = 0;
        for pair in tokens.windows(2) {
            let is_colon = pair[0].kind == Kind::Symbol && text[pair[0].start..].starts_with(':') && !text[..pair[0].start].ends_with(':');
            if let Some(value) = self.value(text, &pair[1]).filter(|_| is_colon) {
                expanded.push_str(&text[end..pair[0].start]);
                expanded.push_str(&value);
                end = pair[1].end;
            }
        }
        expanded.push_str(&text[end..]);
        expanded
    }

    /// The value of the variable that a token names, with the token's quotes.
    fn value(&self, text: &str, token: &Token) -> Option<String> {
        let token_text = &text[token.start..token.end];
        let quoted = |quote: char| {
            let name = token_text.strip_prefix(quote)?.strip_suffix(quote)?;
            let value = self.0.get(name)?;
            Some(format!("{quote}{}{quote}", value.replace(quote, &format!("{quote}{quote}"))))
        };
        match token.kind {
            Kind::Word => self.0.get(token_text).cloned(),
            Kind::Text => quoted('\''),
            Kind::QuotedName => quoted('"'),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Variables {
        let mut all = Variables::default();
        for (name, value) in variables {
            all.set(name.to_string(), Some(value.to_string())).unwrap();
        }
        all
    }

    #[test]
    fn a_name_after_a_colon_stands_for_the_value() {
        let variables = with(&[("n", "3"), ("who", "O'Hara"), ("t", "My Table")]);
        assert_eq!(variables.expand("select :n, :'who' from :\"t\""), "select 3, 'O''Hara' from \"My Table\"");
        assert_eq!(variables.expand("limit :n"), "limit 3");
    }

    #[test]
    fn casts_quotes_and_names_that_are_no_variables_stay() {
        let variables = with(&[("n", "3"), ("int", "4")]);
        for sql in ["select a::int, ':n', b[1:m] -- :n", "select $$ :n $$, :'x'", "", ":"] {
            assert_eq!(variables.expand(sql), sql);
        }
        assert_eq!(Variables::default().expand("select :n"), "select :n");
    }

    #[test]
    fn a_variable_can_be_removed_and_has_a_plain_name() {
        let mut variables = with(&[("b", "2"), ("a", "1")]);
        assert_eq!(variables.list(), "a = '1'\nb = '2'");
        variables.set("a".into(), None).unwrap();
        assert_eq!(variables.expand(":a :b"), ":a 2");
        for name in ["", "a-b", "1a", ":a"] {
            assert!(variables.set(name.into(), Some(String::new())).is_err(), "{name}");
        }
    }
}
