//! How messages of kernels describe arguments and numbers.

use datafusion::common::{ScalarValue, TableReference};
use datafusion::logical_expr::Expr;

use super::tensors::Vectors;
use crate::type_names::declared_name;

/// `1 row`, `2 rows`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The verb after such a count: `1 of 10 rows has`, `2 of 10 rows have`.
pub fn have(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

/// An argument as the statement wrote it, not as planners print it.
pub fn described(argument: &Expr) -> String {
    match argument {
        Expr::Literal(value, _) => described_value(value),
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => "a subquery".to_string(),
        Expr::Placeholder(placeholder) => format!("the parameter {}, which has no value here", placeholder.id),
        Expr::Column(column) => format!("the name {} without quotes", column.name),
        Expr::Cast(cast) => described(&cast.expr),
        Expr::ScalarFunction(call) => format!("a call of {}", call.name()),
        _ => "an expression".to_string(),
    }
}

/// A constant. For a list, its type says more than its elements.
pub fn described_value(value: &ScalarValue) -> String {
    match value.try_as_str() {
        _ if value.is_null() => "NULL".to_string(),
        Some(Some(text)) => text_literal(text),
        _ if Vectors::element(&value.data_type()).is_some() => format!("a list, {}", declared_name(&value.data_type())),
        _ if value.data_type().is_nested() => format!("a value of {}", declared_name(&value.data_type())),
        _ => value.to_string(),
    }
}

fn text_literal(text: &str) -> String {
    format!("the text '{}'", text.replace('\'', "''"))
}

/// A hint for an argument that must be a constant and is not.
pub fn constant_hint(argument: &Expr) -> &'static str {
    match argument {
        Expr::Column(_) => "put names of tables and columns between single quotes, as texts",
        Expr::Placeholder(_) => "write the value in its place",
        _ => "compute the value first, and write it in its place",
    }
}

/// A name as FROM takes it, but without quotes, because messages add their own.
pub fn display_name(table: &TableReference) -> String {
    table.to_vec().join(".")
}

#[cfg(test)]
mod tests {
    use datafusion::common::Column;
    use datafusion::prelude::lit;

    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "row")), ["0 rows", "1 row", "2 rows"]);
        assert_eq!([1, 2].map(have), ["has", "have"]);
    }

    #[test]
    fn arguments_are_said_in_the_words_of_sql() {
        let column = Expr::Column(Column::from_name("x"));
        for (argument, expected) in [
            (lit("it's"), "the text 'it''s'"),
            (lit(2.5), "2.5"),
            (lit(ScalarValue::Decimal128(Some(25), 2, 1)), "2.5"),
            (lit(ScalarValue::Int64(None)), "NULL"),
            (lit(ScalarValue::Utf8(None)), "NULL"),
            (column.clone(), "the name x without quotes"),
            (column.clone() + lit(1), "an expression"),
            (Expr::Not(Box::new(column)), "an expression"),
        ] {
            assert_eq!(described(&argument), expected);
        }
        let list = ScalarValue::List(ScalarValue::new_list_nullable(&[1.0.into()], &arrow::datatypes::DataType::Float64));
        assert_eq!(described_value(&list), "a list, DOUBLE[]");
    }
}
