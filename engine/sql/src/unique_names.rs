//! Columns of a query that would have the same name: `SELECT a, a`, or `SELECT a, a::int`, which DataFusion both names `a`. It refuses
//! such a query. Here each column gets a unique name, as in DuckDB.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    self, CaseWhen, Expr, Ident, Query, Select, SelectItem, SetExpr, SetQuantifier, Value, VisitMut, VisitorMut,
};

use super::headers::{is_unnest, text};
use super::merged_names::normalized;

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
    let statement = match statement {
        Statement::Statement(statement) => statement.as_mut(),
        Statement::Explain(explain) => return alias_duplicate_columns(&mut explain.statement, beside_wildcards),
        _ => return,
    };
    let renames_aliases = !matches!(statement, ast::Statement::CreateTable(_) | ast::Statement::CreateView(_));
    let _ = statement.visit(&mut ColumnAliaser { beside_wildcards, renames_aliases });
}

/// Names the columns of the SELECTs of a UNION and the like if two have the same name: DataFusion loses the table of a column that it
/// casts to the type of the other side.
pub fn name_branches(query: &mut Query) {
    if matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) {
        let mut mentioned = UsedNames::default();
        let _ = query.visit(&mut mentioned);
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
    match statement {
        Statement::Statement(statement) => {
            let _ = statement.visit(&mut CastNamer);
        }
        Statement::Explain(explain) => name_casts(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => {}
    }
}

struct CastNamer;

impl VisitorMut for CastNamer {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
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
        ControlFlow::Continue(())
    }
}

struct ColumnAliaser {
    beside_wildcards: bool,
    renames_aliases: bool,
}

impl VisitorMut for ColumnAliaser {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut mentioned = UsedNames::default();
        let _ = query.visit(&mut mentioned);
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
            let _ = query.order_by.visit(&mut ordered);
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
    fn columns_beside_a_wildcard_get_another_name_where_it_is_said() {
        assert_eq!(named("SELECT *, a FROM t", false), "SELECT *, a FROM t");
        assert_eq!(named("SELECT *, a FROM (SELECT b FROM t)", true), r#"SELECT *, a AS "a_1" FROM (SELECT b FROM t)"#);
    }
}
