//! The names of result columns: an expression without an alias has its own text as its name. DataFusion would name `1 + a`
//! `Int64(1) + t.a`.

use crate::walk::each_expr_mut;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, DataType, ExactNumberInfo, Expr, Query, SelectItem, SetExpr, SetQuantifier, Value};

/// The names that the columns of a result should have.
#[derive(Debug, Default)]
pub struct Headers(Vec<Item>);

/// An item of a SELECT.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// Has an alias or is a column.
    Named,
    Text(String),
    /// `*`, which stands for an unknown number of columns.
    Several,
}

impl Headers {
    /// For a query whose result is shown or becomes a table. Parts that a statement can refer to, such as a subquery or a view, keep
    /// DataFusion's names.
    pub fn of(statement: &Statement) -> Headers {
        match statement {
            Statement::Statement(statement) => Headers(of_statement(statement).unwrap_or_default()),
            _ => Headers::default(),
        }
    }

    /// For each of `columns` columns the new name, if it gets one.
    pub fn names(&self, columns: usize) -> Vec<Option<String>> {
        let mut names = vec![None; columns];
        let several = self.0.iter().filter(|item| **item == Item::Several).count();
        if (several == 0 && self.0.len() != columns) || self.0.len() - several > columns {
            return names;
        }
        let text = |item: &Item| if let Item::Text(text) = item { Some(text.clone()) } else { None };
        // From both ends up to the first item with an unknown number of columns.
        for (name, item) in names.iter_mut().zip(self.0.iter().take_while(|item| **item != Item::Several)) {
            *name = text(item);
        }
        for (name, item) in names.iter_mut().rev().zip(self.0.iter().rev().take_while(|item| **item != Item::Several)) {
            *name = text(item);
        }
        names
    }
}

fn of_statement(statement: &ast::Statement) -> Option<Vec<Item>> {
    match statement {
        ast::Statement::Query(query) => of_query(query),
        ast::Statement::Prepare { statement, .. } => of_statement(statement),
        ast::Statement::CreateTable(create) if create.columns.is_empty() => of_query(create.query.as_ref()?),
        _ => None,
    }
}

/// A set operation has the names of its first query.
fn of_query(query: &Query) -> Option<Vec<Item>> {
    let mut body = query.body.as_ref();
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(items(&select.projection)),
            SetExpr::Query(query) => query.body.as_ref(),
            SetExpr::SetOperation { set_quantifier, .. } if by_name(*set_quantifier) => return None,
            SetExpr::SetOperation { left, .. } => left.as_ref(),
            _ => return None,
        }
    }
}

fn by_name(quantifier: SetQuantifier) -> bool {
    matches!(quantifier, SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName)
}

fn items(projection: &[SelectItem]) -> Vec<Item> {
    let is_wildcard = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let is_unsure = projection.iter().any(is_wildcard);
    projection
        .iter()
        .map(|item| match item {
            SelectItem::ExprWithAlias { .. } => Item::Named,
            // DataFusion makes a column for each field of a struct. Without a wildcard, the number of columns decides.
            SelectItem::UnnamedExpr(expr) if is_unsure && is_unnest(expr) => Item::Several,
            SelectItem::UnnamedExpr(expr) if is_column(expr) => Item::Named,
            SelectItem::UnnamedExpr(expr) => Item::Text(text(expr)),
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) | SelectItem::ExprWithAliases { .. } => Item::Several,
        })
        .collect()
}

pub fn is_unnest(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("unnest"))
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner) => is_column(inner),
        _ => false,
    }
}

/// An expression as it was written.
pub fn text(mut expr: &Expr) -> String {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    let mut expr = expr.clone();
    each_expr_mut(&mut expr, &mut restore_spelling);
    expr.to_string()
}

/// Undoes the rewrites from before parsing: `1e3` has become a cast, see `double_literals`.
fn restore_spelling(expr: &mut Expr) {
    if let Expr::Cast { expr: inner, data_type: DataType::Double(ExactNumberInfo::None), .. } = expr
        && let Expr::Value(value) = inner.as_ref()
        && let Value::SingleQuotedString(digits) = &value.value
        && digits.contains(['e', 'E'])
        && digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
    {
        *expr = Expr::Value(Value::Number(digits.clone(), false).into());
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn names(sql: &str, columns: usize) -> String {
        let statement = DFParser::parse_sql(sql).ok().and_then(|mut statements| statements.pop_front()).unwrap();
        let names = Headers::of(&statement).names(columns).into_iter();
        names.map(|name| name.unwrap_or_else(|| "-".to_string())).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn expressions_without_a_name_are_called_as_they_are_written() {
        assert_eq!(names("SELECT 1+a, a, (t.a), a AS b, Count( * ), (-CAST('1e3' AS DOUBLE))", 6), "1 + a|-|-|-|Count(*)|-1e3");
        assert_eq!(names("CREATE TABLE t AS (SELECT 1 UNION ALL SELECT 2)", 1), "1");
        assert_eq!(names("PREPARE p AS SELECT $1", 1), "$1");
    }

    #[test]
    fn what_a_wildcard_stands_for_keeps_its_names() {
        assert_eq!(names("SELECT 1, *, 2, t.*, 3 FROM t", 7), "1|-|-|-|-|-|3");
        assert_eq!(names("SELECT *, unnest(s), 2 FROM t", 5), "-|-|-|-|2");
        assert_eq!(names("SELECT 1, unnest(s) FROM t", 3), "-|-|-");
    }

    #[test]
    fn names_that_something_refers_to_stay() {
        for sql in ["CREATE VIEW v AS SELECT 1", "INSERT INTO t SELECT 1", "SELECT 1 UNION BY NAME SELECT 2", "EXPLAIN SELECT 1"] {
            assert_eq!(names(sql, 1), "-", "{sql}");
        }
    }
}
