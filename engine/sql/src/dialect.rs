//! The dialect of statements: sqlparser's generic one, except for numbers, the precedence of `^`, and what `IN` takes.

use std::any::TypeId;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

#[derive(Debug, Default, Clone, Copy)]
pub struct QuiverDialect;

/// `^` binds closer than `*`, as in PostgreSQL.
const POWER: u8 = 41;

macro_rules! as_generic {
    ($($method:ident),* $(,)?) => {
        $(fn $method(&self) -> bool {
            GenericDialect.$method()
        })*
    };
}

impl Dialect for QuiverDialect {
    fn dialect(&self) -> TypeId {
        GenericDialect.dialect()
    }

    fn is_delimited_identifier_start(&self, first: char) -> bool {
        GenericDialect.is_delimited_identifier_start(first)
    }

    fn is_identifier_start(&self, first: char) -> bool {
        GenericDialect.is_identifier_start(first)
    }

    fn is_identifier_part(&self, part: char) -> bool {
        GenericDialect.is_identifier_part(part)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Caret => POWER,
            other => GenericDialect.prec_value(other),
        }
    }

    /// `IN ((SELECT …), 7)`: sqlparser parses a list that begins with a query as one query. `a IS DISTINCT FROM b AND c`: it compares `a`
    /// with `b AND c`. `IN ?`: it has no list that is a parameter.
    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, _precedence: u8) -> Option<Result<Expr, ParserError>> {
        if begins_list_with_query(parser) {
            return Some(list_with_query(parser, expr));
        }
        if is_in_parameter(parser) {
            return Some(in_parameter(parser, expr));
        }
        let negated = parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]);
        if !negated && !parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            return None;
        }
        // All operators but AND and OR bind closer than NOT.
        let operand = parser.parse_subexpr(self.prec_value(Precedence::UnaryNot));
        Some(operand.map(|operand| match (Box::new(expr.clone()), Box::new(operand)) {
            (expr, operand) if negated => Expr::IsNotDistinctFrom(expr, operand),
            (expr, operand) => Expr::IsDistinctFrom(expr, operand),
        }))
    }

    /// `list_transform(l, x -> x + 1)`
    fn supports_lambda_functions(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    /// `1_000`
    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    as_generic! {
        supports_unicode_string_literal, supports_partition_by_after_order_by, supports_array_join_syntax, supports_group_by_expr,
        supports_group_by_with_modifier, supports_left_associative_joins_without_parens, supports_connect_by, supports_match_recognize,
        supports_pipe_operator, supports_start_transaction_modifier, supports_window_function_null_treatment_arg, supports_dictionary_syntax,
        supports_window_clause_named_window_reference, supports_parenthesized_set_variables, supports_select_wildcard_except,
        support_map_literal_syntax, allow_extract_custom, allow_extract_single_quotes, supports_extract_comma_syntax,
        supports_create_view_comment_syntax, supports_parens_around_table_factor, supports_values_as_table_factor,
        supports_create_index_with_clause, supports_explain_with_utility_options, supports_limit_comma, supports_update_order_by,
        supports_from_first_select, supports_projection_trailing_commas, supports_asc_desc_in_column_definition, supports_try_convert,
        supports_bitwise_shift_operators, supports_comment_on, supports_load_extension, supports_named_fn_args_with_assignment_operator,
        supports_struct_literal, supports_empty_projections, supports_nested_comments, supports_multiline_comment_hints,
        supports_user_host_grantee, supports_string_escape_constant, supports_array_typedef_with_brackets, supports_match_against,
        supports_set_names, supports_comma_separated_set_assignments, supports_filter_during_aggregation, supports_select_wildcard_exclude,
        supports_data_type_signed_suffix, supports_interval_options, supports_quote_delimited_string, supports_select_wildcard_replace,
        supports_select_wildcard_ilike, supports_select_wildcard_rename, supports_optimize_table, supports_install, supports_detach,
        supports_prewhere, supports_with_fill, supports_limit_by, supports_interpolate, supports_settings, supports_select_format,
        supports_comment_optimizer_hint, supports_constraint_keyword_without_name, supports_key_column_option, supports_comma_separated_trim,
        supports_cte_without_as, supports_select_item_multi_column_alias, supports_xml_expressions,
    }
}

fn list_with_query(parser: &mut Parser<'_>, expr: &Expr) -> Result<Expr, ParserError> {
    let negated = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr: Box::new(expr.clone()), list, negated })
}

/// Whether `[NOT] IN ?` comes next.
fn is_in_parameter(parser: &Parser<'_>) -> bool {
    let is = |at: usize, keyword: Keyword| matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word) if word.keyword == keyword);
    let at = usize::from(is(0, Keyword::NOT));
    is(at, Keyword::IN) && matches!(&parser.peek_nth_token_ref(at + 1).token, Token::Placeholder(_))
}

/// The value of the parameter is a list: `x = ANY (?)`, `x <> ALL (?)`.
fn in_parameter(parser: &mut Parser<'_>, expr: &Expr) -> Result<Expr, ParserError> {
    let negated = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword(Keyword::IN)?;
    let (left, right) = (Box::new(expr.clone()), Box::new(Expr::Value(parser.parse_value()?)));
    Ok(match negated {
        true => Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right },
        false => Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, is_some: false },
    })
}

/// Whether `[NOT] IN ((…),` or `[NOT] IN ((…) +` comes next, with a query in the inner parentheses.
fn begins_list_with_query(parser: &Parser<'_>) -> bool {
    let is = |at: usize, keyword: Keyword| matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word) if word.keyword == keyword);
    let at = usize::from(is(0, Keyword::NOT));
    let opens = |at: usize| parser.peek_nth_token_ref(at).token == Token::LParen;
    if !is(at, Keyword::IN) || !opens(at + 1) || !opens(at + 2) {
        return false;
    }
    let first = (at + 3..).find(|at| !opens(*at)).unwrap_or(at);
    if !is(first, Keyword::SELECT) && !is(first, Keyword::WITH) {
        return false;
    }
    // Uses tokens with whitespace: the accessors that skip it walk from here each time.
    let mut depth = 0_usize;
    for at in 0.. {
        match parser.peek_nth_token_no_skip(at).token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 2 => {
                let mut after = (at + 1..).map(|at| parser.peek_nth_token_no_skip(at).token);
                let next = after.find(|token| !matches!(token, Token::Whitespace(_)));
                // A word continues the query: UNION, ORDER BY.
                return next.is_some_and(|token| !matches!(token, Token::RParen | Token::Word(_) | Token::EOF));
            }
            Token::RParen => depth -= 1,
            Token::EOF => break,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::fragments::expr_of;
    use super::*;
    use crate::walk::each_expr_mut;

    /// The parsed expression, without parentheses.
    fn parsed(sql: &str) -> Expr {
        let mut expr = expr_of(sql).unwrap();
        each_expr_mut(&mut expr, &mut |expr| {
            if let Expr::Nested(inner) = expr {
                *expr = inner.as_ref().clone();
            }
        });
        expr
    }

    #[test]
    fn and_and_or_end_what_is_compared() {
        for (sql, same) in [
            ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
            ("a IS NOT DISTINCT FROM b + 1 OR c", "(a IS NOT DISTINCT FROM (b + 1)) OR c"),
            ("a is distinct from (b AND d) AND c", "(a IS DISTINCT FROM (b AND d)) AND c"),
            ("a IS DISTINCT FROM b AND c IS NOT DISTINCT FROM d OR e", "((a IS DISTINCT FROM b) AND (c IS NOT DISTINCT FROM d)) OR e"),
            ("a IS DISTINCT FROM CASE WHEN b AND c THEN d END AND e", "(a IS DISTINCT FROM (CASE WHEN b AND c THEN d END)) AND e"),
            ("a IS DISTINCT FROM left(s, 1) AND c", "(a IS DISTINCT FROM (left(s, 1))) AND c"),
            ("a IS DISTINCT FROM NOT b AND c", "(a IS DISTINCT FROM (NOT b)) AND c"),
            ("s LIKE 'a%' IS DISTINCT FROM b AND c", "((s LIKE 'a%') IS DISTINCT FROM b) AND c"),
            ("NOT s NOT LIKE 'a%' IS DISTINCT FROM b AND c", "(NOT ((s NOT LIKE 'a%') IS DISTINCT FROM b)) AND c"),
            ("a IS DISTINCT FROM b = d AND c", "(a IS DISTINCT FROM (b = d)) AND c"),
            ("a IS DISTINCT FROM b BETWEEN c AND d", "a IS DISTINCT FROM (b BETWEEN c AND d)"),
            ("a IS DISTINCT FROM b IS NOT DISTINCT FROM c AND d", "(a IS DISTINCT FROM (b IS NOT DISTINCT FROM c)) AND d"),
            ("a IS DISTINCT FROM b IS NULL OR d", "(a IS DISTINCT FROM (b IS NULL)) OR d"),
        ] {
            assert_eq!(parsed(sql), parsed(same), "{sql}");
        }
    }

    #[test]
    fn a_list_may_be_a_parameter() {
        for (sql, same) in [("a IN $1", "a = ANY($1)"), ("a + 1 NOT IN $2 AND b", "a + 1 <> ALL($2) AND b"), ("a IN ($1)", "a IN ($1)")] {
            assert_eq!(expr_of(sql).unwrap().to_string(), same);
        }
    }
}
