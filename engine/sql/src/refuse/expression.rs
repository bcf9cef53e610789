//! Checks expressions.

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, CeilFloorKind, DateTimeField, Expr, Interval, Subscript, TypedString, UnaryOperator, Value,
};

use super::{Refusal, YES, function, no, unless};

pub fn check(expr: &Expr) -> Refusal {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Nested(_) | Expr::Value(_) => YES,
        Expr::CompoundFieldAccess { root: _, access_chain } => access_chain.iter().try_for_each(|access| match access {
            AccessExpr::Dot(_) => YES,
            AccessExpr::Subscript(Subscript::Index { index: _ } | Subscript::Slice { lower_bound: _, upper_bound: _, stride: _ }) => YES,
        }),
        Expr::JsonAccess { value: _, path: _ } => {
            no("a path of JSON behind a colon", "import the JSON, and name its columns and their fields")
        }
        Expr::IsFalse(_) | Expr::IsNotFalse(_) | Expr::IsTrue(_) | Expr::IsNotTrue(_) | Expr::IsNull(_) | Expr::IsNotNull(_) => YES,
        Expr::IsUnknown(_) | Expr::IsNotUnknown(_) | Expr::IsDistinctFrom(_, _) | Expr::IsNotDistinctFrom(_, _) => YES,
        Expr::IsNormalized { expr: _, form: _, negated: _ } => no("IS NORMALIZED", "normalize the texts before they are stored"),
        Expr::InList { expr: _, list: _, negated: _ } | Expr::InSubquery { expr: _, subquery: _, negated: _ } => YES,
        Expr::InUnnest { expr: _, array_expr: _, negated: _ } => no("IN UNNEST (…)", "write x = ANY (list)"),
        Expr::Between { expr: _, negated: _, low: _, high: _ } | Expr::BinaryOp { left: _, op: _, right: _ } => YES,
        Expr::Like { negated: _, any, expr: _, pattern, escape_char } | Expr::ILike { negated: _, any, expr: _, pattern, escape_char } => {
            unless(!any, "LIKE ANY", "write a LIKE for each pattern, with OR between them")?;
            check_pattern(pattern, escape_char.as_ref().map(|escape| &escape.value))
        }
        // It is rewritten to a regular expression, see `similar`.
        Expr::SimilarTo { negated: _, expr: _, pattern: _, escape_char: _ } => YES,
        Expr::RLike { negated: _, expr: _, pattern: _, regexp: _ } => no("RLIKE and REGEXP", "write a ~ 'pattern'"),
        Expr::AnyOp { left: _, compare_op: _, right: _, is_some: _ } | Expr::AllOp { left: _, compare_op: _, right: _ } => YES,
        Expr::UnaryOp { op, expr: _ } => match op {
            UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Not => YES,
            other => no(&format!("the operator {other}"), "use a function instead"),
        },
        Expr::Convert { is_try: _, expr: _, data_type: _, charset: _, target_before_value: _, styles: _ } => {
            no("CONVERT", "use CAST(x AS …)")
        }
        Expr::Cast { kind: _, expr: _, data_type: _, array, format } => {
            unless(!array, "CAST(… AS … ARRAY)", "write the type with brackets, as in INT[]")?;
            unless(format.is_none(), "FORMAT of a CAST", "use to_timestamp(), to_date() or to_char()")
        }
        Expr::AtTimeZone { timestamp: _, time_zone: _ } => YES,
        Expr::Extract { field: _, syntax: _, expr: _ } => YES,
        Expr::Ceil { expr: _, field } | Expr::Floor { expr: _, field } => {
            let is_plain = matches!(field, CeilFloorKind::DateTimeField(DateTimeField::NoDateTime));
            unless(is_plain, "ceil() and floor() to a unit or to digits", "use date_trunc(), or divide before and multiply after")
        }
        Expr::Position { expr: _, r#in: _ } => YES,
        // Two notations with the same meaning.
        Expr::Substring { expr: _, substring_from: _, substring_for: _, special: _, shorthand: _ } => YES,
        Expr::Trim { trim_where: _, trim_what, expr: _, trim_characters } => {
            let count = trim_characters.as_ref().map_or(0, Vec::len) + usize::from(trim_what.is_some());
            unless(count <= 1, "trim() of several lists of characters", "write all characters into one text")
        }
        Expr::Overlay { expr: _, overlay_what: _, overlay_from: _, overlay_for: _ } => YES,
        Expr::Collate { expr: _, collation: _ } => no("COLLATE", "texts are compared by their bytes; use lower(…) or upper(…)"),
        Expr::Prefixed { prefix, value: _ } => no(&format!("a text that begins with {prefix}"), "write the text in single quotes"),
        Expr::TypedString(TypedString { data_type: _, value: _, uses_odbc_syntax: _ }) => YES,
        Expr::Function(call) => function::check(call),
        Expr::Case { case_token: _, end_token: _, operand: _, conditions: _, else_result: _ } => YES,
        Expr::Exists { subquery: _, negated: _ } | Expr::Subquery(_) => YES,
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) | Expr::Tuple(_) => YES,
        Expr::Struct { values: _, fields } => unless(fields.is_empty(), "STRUCT<…>(…)", "write struct(1 AS a, 2 AS b)"),
        Expr::Named { expr: _, name: _ } | Expr::Dictionary(_) | Expr::Map(_) | Expr::Array(Array { elem: _, named: _ }) => YES,
        Expr::Interval(Interval { value: _, leading_field: _, leading_precision, last_field, fractional_seconds_precision }) => {
            let is_plain = leading_precision.is_none() && last_field.is_none() && fractional_seconds_precision.is_none();
            unless(is_plain, "an INTERVAL with precisions or two units", "write INTERVAL '1 day 2 hours'")
        }
        Expr::MatchAgainst { columns: _, match_value: _, opt_search_modifier: _ } => no("MATCH … AGAINST", "use LIKE or ~"),
        Expr::Wildcard(_) | Expr::QualifiedWildcard(_, _) => YES,
        Expr::OuterJoin(_) => no("(+) for an outer join", "write LEFT JOIN … ON …"),
        Expr::Prior(_) => no("PRIOR", "use WITH RECURSIVE"),
        Expr::Lambda(_) => YES,
        Expr::MemberOf(_) => no("MEMBER OF", "write x = ANY (list)"),
    }
}

/// As in PostgreSQL, a pattern must not end with the escape character.
fn check_pattern(pattern: &Expr, escape: Option<&Value>) -> Refusal {
    let (Expr::Value(pattern), Some(Value::SingleQuotedString(escape))) = (pattern, escape) else { return YES };
    let (Value::SingleQuotedString(pattern), Ok(escape)) = (&pattern.value, escape.parse::<char>()) else { return YES };
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        if sign == escape && signs.next().is_none() {
            return no("a LIKE pattern that ends with its ESCAPE", "write the sign twice to mean itself");
        }
    }
    YES
}
