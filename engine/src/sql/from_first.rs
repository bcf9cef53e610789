//! `FROM t`, which is `SELECT * FROM t`.

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Select, SelectFlavor, SelectItem, VisitMut, VisitorMut, WildcardAdditionalOptions};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::tokens::{is_word, significant};

/// Says so in each query of the statement.
pub fn select_all(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => select_all_of(statement),
        Statement::Explain(explain) => select_all(&mut explain.statement),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => select_all_of(query),
            CopyToSource::Relation(_) => {}
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

/// The same in a part of one.
pub fn select_all_of(part: &mut impl VisitMut) {
    let _ = part.visit(&mut Selecting);
}

struct Selecting;

impl VisitorMut for Selecting {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        match select.flavor {
            SelectFlavor::Standard => {}
            SelectFlavor::FromFirst => select.flavor = SelectFlavor::Standard,
            SelectFlavor::FromFirstNoSelect => {
                select.flavor = SelectFlavor::Standard;
                select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
            }
        }
        ControlFlow::Continue(())
    }
}

/// `INSERT INTO t FROM u`: the parser knows no such query there.
pub fn select_all_to_insert(tokens: &mut Vec<TokenWithSpan>) {
    if let Some(from) = from_to_insert(tokens) {
        let span = tokens[from].span;
        let words = [Token::make_keyword("SELECT"), Token::Mul].map(|token| TokenWithSpan::new(token, span));
        tokens.splice(from..from, words);
    }
}

/// Where the FROM stands, behind the name of the table and the columns.
fn from_to_insert(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut words = significant(tokens).peekable();
    words.next_if(|(_, token)| is_word(&token.token, "INSERT"))?;
    words.next_if(|(_, token)| is_word(&token.token, "INTO"))?;
    let mut depth = 0usize;
    let mut before = None;
    for (index, token) in words {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            Token::Word(_) if is_word(&token.token, "FROM") && before.is_some() => return Some(index),
            // Names with points between them.
            Token::Word(_) if matches!(before, None | Some(Token::Period)) => {}
            Token::Period => {}
            _ => return None,
        }
        before = Some(token.token.clone());
    }
    None
}
