//! Slices in brackets become texts: `region('a', [0:64, :])` is `region('a', '[0:64, :]')`.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::significant_tokens::{is_word, significant};

const FUNCTIONS: [&str; 3] = ["region", "array_region", "finest_region"];

/// Replaces the slices behind REGION in a statement, and those that are the second argument of functions that take a region.
pub fn quote_slices(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| matches!(token.token, Token::LBracket)) {
        return;
    }
    let (order, starts): (Vec<usize>, Vec<usize>) = {
        let order: Vec<usize> = significant(tokens).map(|(at, _)| at).collect();
        let token = |place: usize| order.get(place).map(|at| &tokens[*at].token);
        let begins = |place: usize| {
            let Some(Token::Word(_)) = token(place) else { return None };
            let is_function = FUNCTIONS.iter().any(|name| token(place).is_some_and(|word| is_word(word, name)));
            let bracket = match token(place + 1) {
                Some(Token::LParen) if is_function && token(place + 3) == Some(&Token::Comma) => place + 4,
                _ if place > 0 && is_update(&order, tokens) && token(place).is_some_and(|word| is_word(word, "REGION")) => place + 1,
                _ => return None,
            };
            (token(bracket) == Some(&Token::LBracket)).then_some(bracket)
        };
        let starts = (0..order.len()).filter_map(begins).collect();
        (order, starts)
    };
    for start in starts.into_iter().rev() {
        let end = (start..order.len()).find(|place| tokens[order[*place]].token == Token::RBracket);
        let Some(end) = end else { continue };
        let (first, last) = (order[start], order[end]);
        let text: String = tokens[first..=last].iter().map(|token| token.token.to_string()).collect();
        let span = tokens[first].span;
        tokens.splice(first..=last, [TokenWithSpan::new(Token::SingleQuotedString(text), span)]);
    }
}

/// Whether the statement begins as `UPDATE ARRAY a`.
fn is_update(order: &[usize], tokens: &[TokenWithSpan]) -> bool {
    let begins = |place: usize, word: &str| order.get(place).is_some_and(|at| is_word(&tokens[*at].token, word));
    begins(0, "UPDATE") && begins(1, "ARRAY") && !begins(2, "SET")
}
