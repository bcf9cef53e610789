//! Columns of a query that would have the same name: `SELECT a, a`, or `SELECT a, a::int`, which DataFusion both names `a`. It refuses
//! such a query. Here each column gets a unique name, as in DuckDB.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    self, CaseWhen, Expr, Ident, ObjectName, OrderBy, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    SetQuantifier, TableFactor, TableWithJoins, UnaryOperator, Value, VisitorMut, WildcardAdditionalOptions,
};

use super::having::{has_aggregate, is_aggregate};
use super::headers::{is_unnest, text};
use super::merged_names::normalized;
use crate::walk::{WalkMut, each_expr_mut, sql_statement_mut};

/// Between an alias and its number. `SELECT 1 AS a, t.*` has two columns of the same name, and DataFusion finds only one of them.
pub const NUMBER_MARK: char = '\u{1f}';

/// The original alias of one that was numbered.
pub fn alias_as_written(name: &str) -> Option<&str> {
    name.split_once(NUMBER_MARK).map(|(alias, _)| alias)
}

/// A replacement for an alias that nothing else in a statement can have.
pub fn hidden_alias(alias: &Ident) -> Ident {
    Ident::with_quote('"', format!("{}{NUMBER_MARK}", normalized(alias)))
}

/// Names the columns that have no alias: expressions by their text, and a second `a` as `a_1`. With `beside_wildcards` this includes the
/// columns next to a `*`, which may have the same names as those of the wildcard. An alias there has a number until the result is shown,
/// unless ORDER BY uses it. A second alias `a` becomes `a_1`, too. Aliases of a table or a view are not renamed: duplicates are an error
/// there, as in PostgreSQL.
pub fn alias_duplicate_columns(statement: &mut Statement, beside_wildcards: bool) {
    let Some(statement) = sql_statement_mut(statement) else { return };
    let renames_aliases = !matches!(statement, ast::Statement::CreateTable(_) | ast::Statement::CreateView(_));
    let _ = statement.walk_mut(&mut ColumnAliaser { beside_wildcards, renames_aliases });
}

/// The query with names from [`alias_duplicate_columns`], if DataFusion is certain to refuse it without them, and if only the columns of
/// its own SELECT get names, none of which is used in it: another name could be found where the query as it is written has an error.
/// `has_column` says whether a table has a column.
pub fn with_needed_aliases(
    state: &SessionState,
    statement: &Statement,
    has_column: impl Fn(&ObjectName, &str) -> bool,
) -> Option<Statement> {
    let Statement::Statement(inner) = statement else { return None };
    let ast::Statement::Query(query) = inner.as_ref() else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let beside_wildcards = query.with.is_none() && repeats_wildcard(select, has_column);
    if !beside_wildcards && !repeats_item(select) && !orders_by_aggregate(state, select, query.order_by.as_ref()) {
        return None;
    }
    let mut named = statement.clone();
    alias_duplicate_columns(&mut named, beside_wildcards);
    let (mut rest, mut used, mut aliases) = (named.clone(), UsedNames::default(), Vec::new());
    if let Statement::Statement(inner) = &mut rest
        && let ast::Statement::Query(query) = inner.as_mut()
        && let SetExpr::Select(own) = query.body.as_mut()
    {
        for (item, written) in own.projection.iter_mut().zip(&select.projection) {
            if item != written && item_expr(item) == item_expr(written) {
                aliases.extend(alias(item).map(|alias| alias.value.to_lowercase()));
                item.clone_from(written);
            }
        }
        let _ = query.walk_mut(&mut used);
    }
    (rest == *statement && !aliases.iter().any(|alias| used.0.contains(alias))).then_some(named)
}

fn item_expr(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Whether the `*` of a SELECT from a single table stands for a column with the name of another item. `has_column` does not know the tables
/// of WITH.
fn repeats_wildcard(select: &Select, has_column: impl Fn(&ObjectName, &str) -> bool) -> bool {
    let [TableWithJoins { relation: TableFactor::Table { name, alias, args: None, version: None, .. }, joins }] = select.from.as_slice()
    else {
        return false;
    };
    let is_whole = |item: &SelectItem| match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), options) => {
            *options == WildcardAdditionalOptions::default()
        }
        _ => false,
    };
    let has_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(column)) | SelectItem::ExprWithAlias { alias: column, .. } => {
            has_column(name, &normalized(column))
        }
        _ => false,
    };
    joins.is_empty()
        && alias.as_ref().is_none_or(|alias| alias.columns.is_empty())
        && select.projection.iter().any(is_whole)
        && select.projection.iter().any(has_item)
}

/// Whether two items have the same expression or the same alias.
fn repeats_item(select: &Select) -> bool {
    let (mut columns, mut exprs, mut aliases) = (HashSet::new(), HashSet::new(), HashSet::new());
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) if is_unnest(expr) => false,
        SelectItem::UnnamedExpr(expr) => match named_expr(expr) {
            Expr::Identifier(column) => !columns.insert(normalized(column)),
            _ => !exprs.insert(expr),
        },
        // With its own name as the alias it is a column of its table, and another table may have one of that name.
        SelectItem::ExprWithAlias { expr, alias } if column(named_expr(expr)).map(normalized) != Some(normalized(alias)) => {
            !aliases.insert(normalized(alias))
        }
        _ => false,
    })
}

/// The part that gives the expression its name: DataFusion leaves casts out of names.
fn named_expr(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => named_expr(inner),
        expr => expr,
    }
}

/// Whether ORDER BY has the number of an item that is computed from an aggregate. DataFusion sorts by its name, which a GROUP BY gives only
/// to its own items, to aggregates and to aliases.
fn orders_by_aggregate(state: &SessionState, select: &Select, order_by: Option<&OrderBy>) -> bool {
    let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = order_by else { return false };
    let is_column = |item: &SelectItem| item_expr(item).is_some_and(|expr| !is_unnest(expr));
    let is_computed = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => !is_aggregate(state, named_expr(expr)) && has_aggregate(state, expr),
        _ => false,
    };
    select.projection.iter().all(is_column)
        && keys.iter().filter_map(|key| position(&key.expr)).filter_map(|index| select.projection.get(index)).any(is_computed)
}

/// The index of the item for `ORDER BY 1`.
fn position(key: &Expr) -> Option<usize> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(digits, _) = &value.value else { return None };
    digits.parse::<usize>().ok()?.checked_sub(1)
}

/// Names the columns of the SELECTs of a UNION and the like if two have the same name: DataFusion loses the table of a column that it
/// casts to the type of the other side.
pub fn name_branches(query: &mut Query) {
    if matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) {
        let mut mentioned = UsedNames::default();
        let _ = query.walk_mut(&mut mentioned);
        in_branches(&mut query.body, &mentioned.0);
    }
}

fn in_branches(body: &mut SetExpr, mentioned: &HashSet<String>) {
    match body {
        SetExpr::Select(select) if has_column_twice(select) => {
            ColumnAliaser { beside_wildcards: false, renames_aliases: false }.name(&mut select.projection, mentioned)
        }
        // BY NAME uses the names as they are.
        SetExpr::SetOperation { set_quantifier, left, right, .. } if !is_by_name(*set_quantifier) => {
            in_branches(left, mentioned);
            in_branches(right, mentioned);
        }
        _ => {}
    }
}

fn is_by_name(quantifier: SetQuantifier) -> bool {
    matches!(quantifier, SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName)
}

fn has_column_twice(select: &Select) -> bool {
    let mut names = HashSet::new();
    let columns = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) => column(expr),
        _ => None,
    });
    columns.map(normalized).any(|name| !names.insert(name))
}

/// Every name in a query. A new name must differ from all of them: otherwise ORDER BY could refer to the new column.
#[derive(Default)]
struct UsedNames(HashSet<String>);

impl VisitorMut for UsedNames {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.0.insert(alias.value.to_lowercase());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => {
                self.0.insert(name.value.to_lowercase());
            }
            Expr::CompoundIdentifier(parts) => self.0.extend(parts.iter().map(|part| part.value.to_lowercase())),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Makes each cast a CASE with one branch, and with the type in its name. DataFusion leaves casts out of names: it refuses
/// `SELECT sum(a), sum(CAST(a AS DOUBLE))`. It simplifies the CASE to the cast.
pub fn name_casts(statement: &mut Statement) {
    let Some(statement) = sql_statement_mut(statement) else { return };
    each_expr_mut(statement, &mut |expr| {
        if let Expr::Cast { data_type, .. } = expr {
            let name = Expr::value(Value::SingleQuotedString(data_type.to_string()));
            let result = std::mem::replace(expr, Expr::value(Value::Null));
            *expr = Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![CaseWhen { condition: Expr::IsNotNull(Box::new(name)), result }],
                else_result: None,
            };
        }
    });
}

struct ColumnAliaser {
    beside_wildcards: bool,
    renames_aliases: bool,
}

impl VisitorMut for ColumnAliaser {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut mentioned = UsedNames::default();
        let _ = query.walk_mut(&mut mentioned);
        // Aliases come first, before the other columns get names.
        if self.renames_aliases
            && let SetExpr::Select(select) = query.body.as_mut()
        {
            number_repeated(&mut select.projection, &mentioned.0);
        }
        if self.beside_wildcards
            && let SetExpr::Select(select) = query.body.as_mut()
        {
            let mut ordered = UsedNames::default();
            let _ = query.order_by.walk_mut(&mut ordered);
            number_aliases(&mut select.projection, &ordered.0);
        }
        self.name_in(&mut query.body, &mentioned.0);
        ControlFlow::Continue(())
    }
}

impl ColumnAliaser {
    fn name_in(&self, body: &mut SetExpr, mentioned: &HashSet<String>) {
        match body {
            SetExpr::Select(select) => self.name(&mut select.projection, mentioned),
            SetExpr::SetOperation { left, right, .. } => {
                self.name_in(left, mentioned);
                self.name_in(right, mentioned);
            }
            _ => {}
        }
    }

    fn name(&self, projection: &mut [SelectItem], mentioned: &HashSet<String>) {
        let renames_columns = self.beside_wildcards && projection.iter().any(is_wildcard);
        let mut last_numbers = HashMap::new();
        let mut seen: HashSet<String> = projection.iter().filter_map(alias).map(normalized).collect();
        for item in projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            if is_unnest(expr) {
                continue;
            }
            let column = column(expr).map(normalized);
            let is_column = column.is_some();
            let mut name = column.unwrap_or_else(|| text(expr).replace(NUMBER_MARK, ""));
            let is_new = seen.insert(name.clone());
            if is_column && is_new && !renames_columns {
                continue;
            }
            if is_column || !is_new {
                let last = last_numbers.entry(name.clone()).or_default();
                name = numbered(&name, last, |name| seen.contains(name) || mentioned.contains(&name.to_lowercase()));
                seen.insert(name.clone());
            }
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', name) };
        }
    }
}

/// Numbers repeated aliases: `SELECT a AS x, b AS x`.
fn number_repeated(projection: &mut [SelectItem], mentioned: &HashSet<String>) {
    let (mut before, mut last_numbers) = (HashSet::new(), HashMap::new());
    let mut seen: HashSet<String> = projection.iter().filter_map(alias).map(normalized).collect();
    for item in projection {
        let SelectItem::ExprWithAlias { alias, .. } = item else { continue };
        let name = normalized(alias);
        if !before.insert(name.clone()) {
            let last = last_numbers.entry(name.clone()).or_default();
            let numbered = numbered(&name, last, |name| seen.contains(name) || mentioned.contains(&name.to_lowercase()));
            seen.insert(numbered.clone());
            *alias = Ident::with_quote('"', numbered);
        }
    }
}

fn number_aliases(projection: &mut [SelectItem], ordered: &HashSet<String>) {
    if !projection.iter().any(is_wildcard) {
        return;
    }
    for (number, item) in projection.iter_mut().enumerate() {
        if let SelectItem::ExprWithAlias { alias, .. } = item
            && !ordered.contains(&alias.value.to_lowercase())
        {
            *alias = Ident::with_quote('"', format!("{}{NUMBER_MARK}{number}", normalized(alias)));
        }
    }
}

fn is_wildcard(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// `name_1`, or the next number that is free. `last` is the name's last number: earlier ones stay taken.
fn numbered(name: &str, last: &mut usize, is_taken: impl Fn(&str) -> bool) -> String {
    loop {
        *last += 1;
        let numbered = format!("{name}_{last}");
        if !is_taken(&numbered) {
            return numbered;
        }
    }
}

pub fn alias(item: &SelectItem) -> Option<&Ident> {
    if let SelectItem::ExprWithAlias { alias, .. } = item { Some(alias) } else { None }
}

/// The name of an expression that is only a column.
pub fn column(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        Expr::Nested(inner) => column(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn named(sql: &str, beside_wildcards: bool) -> String {
        let mut statement = DFParser::parse_sql(sql).ok().and_then(|mut statements| statements.pop_front()).unwrap();
        alias_duplicate_columns(&mut statement, beside_wildcards);
        match statement {
            Statement::Statement(statement) => statement.to_string(),
            _ => String::new(),
        }
    }

    #[test]
    fn columns_of_one_name_get_names_of_their_own() {
        let wanted = r#"SELECT a, t.a AS "a_1", a::INT AS "a::INT", 1 AS "1", 1 AS "1_1", b FROM t"#;
        assert_eq!(named("SELECT a, t.a, a::INT, 1, 1, b FROM t", false), wanted);
        assert_eq!(named("SELECT a, a FROM t ORDER BY A_1", false), r#"SELECT a, a AS "a_2" FROM t ORDER BY A_1"#);
        let outer = named("SELECT a_1 FROM (SELECT a, a FROM t)", false);
        assert_eq!(outer, r#"SELECT a_1 FROM (SELECT a, a AS "a_1" FROM t)"#);
        assert_eq!(named("SELECT a, 2 AS a FROM t", false), r#"SELECT a AS "a_1", 2 AS a FROM t"#);
        assert_eq!(named("SELECT a AS x, b AS X, c AS x FROM t", false), r#"SELECT a AS x, b AS "x_1", c AS "x_2" FROM t"#);
        assert_eq!(named("CREATE TABLE u AS SELECT 1 AS x, 2 AS x", false), "CREATE TABLE u AS SELECT 1 AS x, 2 AS x");
    }

    #[test]
    fn names_are_given_before_planning_where_a_query_cannot_do_without_them() {
        let state = SessionContext::new().state();
        let needed = |sql: &str| {
            let statement = DFParser::parse_sql(sql).ok().and_then(|mut statements| statements.pop_front()).unwrap();
            match with_needed_aliases(&state, &statement, |table, column| table.to_string() == "t" && column == "a") {
                Some(Statement::Statement(statement)) => statement.to_string().replace(NUMBER_MARK, "'"),
                _ => String::new(),
            }
        };
        for (sql, named) in [
            ("SELECT a, A FROM x", r#"SELECT a, A AS "a_1" FROM x"#),
            ("SELECT a, a::INT FROM x", r#"SELECT a, a::INT AS "a::INT" FROM x"#),
            ("SELECT a + 1, a + 1 FROM x", r#"SELECT a + 1 AS "a + 1", a + 1 AS "a + 1_1" FROM x"#),
            ("SELECT a AS x, b AS x FROM t", r#"SELECT a AS x, b AS "x_1" FROM t"#),
            ("SELECT *, a FROM t", r#"SELECT *, a AS "a_1" FROM t"#),
            ("SELECT 1 AS a, t.* FROM t", r#"SELECT 1 AS "a'0", t.* FROM t"#),
            ("SELECT k, -sum(a) FROM t GROUP BY k ORDER BY 2", r#"SELECT k, -sum(a) AS "-sum(a)" FROM t GROUP BY k ORDER BY 2"#),
        ] {
            assert_eq!(needed(sql), named);
        }
        for sql in [
            "SELECT t.k AS k, u.k AS k FROM t, u",
            "SELECT t.a, u.a FROM t, u",
            "SELECT *, b FROM t",
            "SELECT * EXCLUDE (a), 1 AS a FROM t",
            "SELECT *, a FROM t AS t (b)",
            "WITH t AS (SELECT b FROM x) SELECT *, a FROM t",
            "SELECT a, a FROM (SELECT a, b + 1 FROM t)",
            "SELECT k, -sum(a) FROM t GROUP BY k ORDER BY 2, \"-sum(a)\"",
            "SELECT k, sum(a)::INT FROM t GROUP BY k ORDER BY 2",
            "SELECT k + 1 FROM t GROUP BY k + 1 ORDER BY 1",
            "SELECT a FROM t UNION SELECT -sum(b) FROM t ORDER BY 1",
        ] {
            assert_eq!(needed(sql), "", "{sql}");
        }
    }

    #[test]
    fn columns_beside_a_wildcard_get_another_name_where_it_is_said() {
        assert_eq!(named("SELECT *, a FROM t", false), "SELECT *, a FROM t");
        assert_eq!(named("SELECT *, a FROM (SELECT b FROM t)", true), r#"SELECT *, a AS "a_1" FROM (SELECT b FROM t)"#);
    }
}
