//! In an expression of ORDER BY a name means a column of FROM if there is one, as in PostgreSQL: `SELECT -v AS v FROM t ORDER BY v + 0`. A
//! name alone means a column of the result. DataFusion looks among the result columns first, and they hide a column of FROM with the same
//! name: `SELECT k, sum(v) AS v FROM t GROUP BY k ORDER BY sum(v)`. So such a result column has another name until the rows are sorted.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::Span;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    self, Distinct, Expr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, Visitor, VisitorMut,
};

use super::fragments::query_of;
use super::headers::{is_unnest, text};
use super::merged_names::normalized;
use super::unique_names::{NUMBER_MARK, alias, column, hidden_alias};
use crate::walk::{Walk, WalkMut, sql_statement_mut, walk_statement};

/// A name in an expression, and its position in the text. Without a span it means every occurrence of the name.
pub type Mention = (String, Option<Span>);

/// The statement with renamed result columns, and where the original names are mentioned; `None` if there are none. Those in `results` are
/// not in the FROM of their query.
pub fn order_by_input(statement: &Statement, results: &HashSet<Mention>) -> Option<(Statement, HashSet<Mention>)> {
    if walk_statement(statement, &mut Finding { results }).is_continue() {
        return None;
    }
    let mut renamed = statement.clone();
    let sql = sql_statement_mut(&mut renamed)?;
    let mut renaming = Renaming { results, depth: usize::from(!is_named_later(sql)), mentions: HashSet::new() };
    let _ = sql.walk_mut(&mut renaming);
    let mentions = renaming.mentions;
    (!mentions.is_empty()).then_some((renamed, mentions))
}

/// The mentions that cannot mean a column of FROM: nothing in the statement gives a column that name, except for the result column itself.
/// `is_column` says whether one of the statement's tables has a column.
pub fn certain_results(statement: &Statement, is_column: impl Fn(&str) -> bool) -> HashSet<Mention> {
    let Some((_, mut mentions)) = order_by_input(statement, &HashSet::new()) else { return HashSet::new() };
    let mut names = ColumnNames::default();
    if walk_statement(statement, &mut names).is_break() {
        return HashSet::new();
    }
    mentions.retain(|(name, _)| is_word(name) && !names.columns.contains(name) && !is_column(name));
    mentions
}

/// Names that the planner makes up for columns have other characters.
fn is_word(name: &str) -> bool {
    name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The names that a statement itself gives to columns.
///
/// **Invariant:** a construct that is not known here may give a column any name, and ends the search.
#[derive(Default)]
struct ColumnNames {
    aliases: HashSet<String>,
    /// Aliases that occur twice, as one of them may be in a FROM, and all other names.
    columns: HashSet<String>,
}

impl ColumnNames {
    fn add_item(&mut self, item: &SelectItem) -> bool {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => {
                let name = normalized(alias);
                if !self.aliases.insert(name.clone()) {
                    self.columns.insert(name);
                }
                true
            }
            SelectItem::UnnamedExpr(expr) => {
                // A column has its name from elsewhere.
                if column(expr).is_none() {
                    self.columns.insert(text(expr));
                }
                true
            }
            SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
                options.opt_rename.is_none() && options.opt_alias.is_none()
            }
            SelectItem::ExprWithAliases { .. } => false,
        }
    }

    fn add_alias(&mut self, alias: Option<&TableAlias>) -> bool {
        self.columns.extend(alias.iter().flat_map(|alias| &alias.columns).map(|column| normalized(&column.name)));
        alias.is_none_or(|alias| alias.at.is_none())
    }
}

impl Visitor for ColumnNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        continue_if(query.pipe_operators.is_empty() && is_of_selects(&query.body) && ctes.all(|cte| self.add_alias(Some(&cte.alias))))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        continue_if(
            select.lateral_views.is_empty() && select.connect_by.is_empty() && select.projection.iter().all(|item| self.add_item(item)),
        )
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        continue_if(match factor {
            TableFactor::Table { alias, args: None, version: None, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => self.add_alias(alias.as_ref()),
            _ => false,
        })
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        continue_if(!matches!(expr, Expr::Lambda(_)))
    }
}

fn continue_if(is_known: bool) -> ControlFlow<()> {
    if is_known { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Whether all columns of a query's body come from SELECT lists.
fn is_of_selects(mut body: &SetExpr) -> bool {
    loop {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) => return true,
            // Long chains of them are nested on the left.
            SetExpr::SetOperation { left, right, .. } if is_of_selects(right) => body = left,
            _ => return false,
        }
    }
}

/// Whether the result columns get their names after planning, as those with a changed alias do.
fn is_named_later(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Query(_) | ast::Statement::CreateTable(_) | ast::Statement::Insert(_) => true,
        ast::Statement::Prepare { statement, .. } => is_named_later(statement),
        _ => false,
    }
}

struct Finding<'a> {
    results: &'a HashSet<Mention>,
}

impl Visitor for Finding<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if names_twice(query, self.results).is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

struct Renaming<'a> {
    results: &'a HashSet<Mention>,
    /// 0 in a query whose columns get their names after planning.
    depth: usize,
    mentions: HashSet<Mention>,
}

impl VisitorMut for Renaming<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        let mentions = names_twice(query, self.results);
        let names = mentions.iter().map(|(name, _)| name.clone()).collect();
        let is_renamed = match self.depth {
            _ if mentions.is_empty() => false,
            0 => rename(query, &names),
            _ => rename_inside(query, &names),
        };
        if is_renamed {
            self.mentions.extend(mentions);
        }
        ControlFlow::Continue(())
    }
}

/// The mentions of result columns in expressions of the query's ORDER BY.
fn names_twice(query: &Query, results: &HashSet<Mention>) -> HashSet<Mention> {
    let (SetExpr::Select(select), Some(OrderBy { kind: OrderByKind::Expressions(keys), .. })) = (query.body.as_ref(), &query.order_by)
    else {
        return HashSet::new();
    };
    let mut mentions = Mentions::default();
    for key in keys.iter().filter(|key| bare(&key.expr).is_none()) {
        let _ = key.expr.walk(&mut mentions);
    }
    let mut mentions = mentions.0;
    let is_result = |name: &String| results.iter().any(|result| result.0 == *name && (result.1.is_none() || mentions.contains(result)));
    // `v AS v` is the column itself.
    let is_other = |item: &&SelectItem| match item {
        SelectItem::ExprWithAlias { expr: Expr::Identifier(name), alias } => normalized(name) != normalized(alias),
        _ => true,
    };
    let shown = shown_names(&select.projection);
    let is_single = |name: &String| shown.iter().filter(|other| *other == name).count() == 1;
    let aliases = select.projection.iter().filter(is_other).filter_map(alias).map(normalized);
    let names: HashSet<String> = aliases.filter(|name| !is_result(name) && is_single(name)).collect();
    mentions.retain(|(name, _)| names.contains(name));
    mentions
}

/// The names of the columns of a SELECT, except for those of a wildcard.
fn shown_names(projection: &[SelectItem]) -> Vec<String> {
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normalized(alias)),
        SelectItem::UnnamedExpr(expr) => Some(column(expr).map_or_else(|| text(expr), normalized)),
        _ => None,
    };
    projection.iter().filter_map(name).collect()
}

/// Collects all names in an expression.
#[derive(Default)]
struct Mentions(HashSet<Mention>);

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let mention = |name: &Ident| (normalized(name), Span::try_from_sqlparser_span(name.span));
        match expr {
            Expr::Identifier(name) => {
                self.0.insert(mention(name));
            }
            Expr::CompoundIdentifier(parts) => self.0.extend(parts.iter().map(mention)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The name, if the expression is nothing else.
fn bare(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::Nested(inner) => bare(inner),
        _ => None,
    }
}

fn rename(query: &mut Query, names: &HashSet<String>) -> bool {
    let SetExpr::Select(select) = query.body.as_mut() else { return false };
    let mut results: Vec<(Expr, Ident)> = Vec::new();
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr, alias } = item
            && names.contains(&normalized(alias))
        {
            *alias = hidden_alias(alias);
            results.push((expr.clone(), alias.clone()));
        }
    }
    let mut keys: Vec<&mut Expr> = Vec::new();
    if let Some(Distinct::On(on)) = &mut select.distinct {
        keys.extend(on);
    }
    if let Some(OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by {
        keys.extend(by.iter_mut().map(|key| &mut key.expr));
    }
    for key in keys {
        let result = match bare(key) {
            Some(name) => names.contains(&normalized(name)).then(|| hidden_alias(name)),
            // The key is an item of the SELECT list: with DISTINCT nothing else is allowed.
            None => results.iter().find(|(expr, _)| expr == &*key).map(|(_, alias)| alias.clone()),
        };
        if let Some(alias) = result {
            *key = Expr::Identifier(alias);
        }
    }
    true
}

/// For a nested query. A query around it restores the names, so each column needs a unique one. Without a LIMIT the order of a nested query
/// has no effect, and a correlated one could no longer become a join.
fn rename_inside(query: &mut Query, names: &HashSet<String>) -> bool {
    let Ok(mut outer) = query_of("SELECT 1 FROM (SELECT 1) AS __ordered") else { return false };
    let (SetExpr::Select(select), SetExpr::Select(around)) = (query.body.as_mut(), outer.body.as_mut()) else { return false };
    let is_column = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => !is_unnest(expr),
        SelectItem::ExprWithAlias { .. } => true,
        _ => false,
    };
    let Some(TableFactor::Derived { subquery, .. }) = around.from.first_mut().map(|table| &mut table.relation) else { return false };
    let (shown, is_limited) = (shown_names(&select.projection), query.limit_clause.is_some() || query.fetch.is_some());
    let has_repeated = shown.iter().collect::<HashSet<_>>().len() < shown.len();
    if !is_limited || has_repeated || !select.projection.iter().all(is_column) {
        return false;
    }
    around.projection = select.projection.iter_mut().map(|item| outside(item, names)).collect();
    rename(query, names);
    std::mem::swap(subquery.as_mut(), query);
    *query = outer;
    true
}

/// The item for the query around it. An expression without a name gets one.
fn outside(item: &mut SelectItem, names: &HashSet<String>) -> SelectItem {
    if let SelectItem::UnnamedExpr(expr) = item
        && column(expr).is_none()
    {
        let alias = Ident::with_quote('"', text(expr).replace(NUMBER_MARK, ""));
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
    match &*item {
        SelectItem::ExprWithAlias { alias, .. } if names.contains(&normalized(alias)) => {
            SelectItem::ExprWithAlias { expr: Expr::Identifier(hidden_alias(alias)), alias: alias.clone() }
        }
        SelectItem::ExprWithAlias { alias, .. } => SelectItem::UnnamedExpr(Expr::Identifier(alias.clone())),
        SelectItem::UnnamedExpr(expr) => {
            SelectItem::UnnamedExpr(column(expr).map_or_else(|| expr.clone(), |name| Expr::Identifier(name.clone())))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;
    use crate::walk::sql_statement;

    /// The text with `'` after each renamed name.
    fn renamed(sql: &str, results: &[&str]) -> Option<String> {
        let statement = DFParser::parse_sql(sql).ok().and_then(|mut statements| statements.pop_front()).unwrap();
        let results = results.iter().map(|name| (name.to_string(), None)).collect();
        order_by_input(&statement, &results).map(|(statement, _)| sql_statement(&statement).unwrap().to_string().replace('\u{1f}', "'"))
    }

    #[test]
    fn a_column_of_the_result_has_another_name_where_an_expression_of_order_by_has_its_name() {
        assert_eq!(renamed("SELECT -v AS v FROM t ORDER BY v + 0, v", &[]).unwrap(), r#"SELECT -v AS "v'" FROM t ORDER BY v + 0, "v'""#);
        assert_eq!(renamed("SELECT k AS v FROM t ORDER BY (v), t.v", &[]).unwrap(), r#"SELECT k AS "v'" FROM t ORDER BY "v'", t.v"#);
        let listed = renamed("SELECT DISTINCT -v AS v FROM t ORDER BY -v DESC", &[]).unwrap();
        assert_eq!(listed, r#"SELECT DISTINCT -v AS "v'" FROM t ORDER BY "v'" DESC"#);
        for sql in ["SELECT -v AS v FROM t ORDER BY v", "SELECT v AS v FROM t ORDER BY v + 0", "SELECT -v AS w FROM t ORDER BY v + 0"] {
            assert_eq!(renamed(sql, &[]), None, "{sql}");
        }
        assert_eq!(renamed("SELECT -v AS v FROM t ORDER BY v + 0", &["v"]), None);
    }

    #[test]
    fn a_query_in_another_one_shows_the_name_that_was_written() {
        let inner = renamed("SELECT v FROM (SELECT -v AS v, t.k, 1 FROM t ORDER BY v + 0 LIMIT 1) AS x", &[]).unwrap();
        let shown = r#"SELECT "v'" AS v, k, "1" FROM (SELECT -v AS "v'", t.k, 1 AS "1" FROM t ORDER BY v + 0 LIMIT 1) AS __ordered"#;
        assert_eq!(inner, format!("SELECT v FROM ({shown}) AS x"));
        for inside in [
            "*, -v AS v FROM t ORDER BY v + 0 LIMIT 1",
            "-v AS v, t.k, u.k FROM t, u ORDER BY v + 0 LIMIT 1",
            "-v AS v FROM t ORDER BY v + 0",
        ] {
            assert_eq!(renamed(&format!("SELECT v FROM (SELECT {inside}) AS x"), &[]), None, "{inside}");
        }
        assert_eq!(renamed("SELECT v, -w AS v FROM t ORDER BY v + 0", &[]), None);
    }

    #[test]
    fn a_name_that_no_table_and_no_other_query_gives_is_certain_to_be_one_of_the_result() {
        let certain = |sql: &str| {
            let statement = DFParser::parse_sql(sql).ok().and_then(|mut statements| statements.pop_front()).unwrap();
            let mut names: Vec<String> = certain_results(&statement, |name| name == "v").into_iter().map(|(name, _)| name).collect();
            names.sort();
            names.join(" ")
        };
        for (sql, names) in [
            ("SELECT sum(v) AS x, count(*) AS y FROM t ORDER BY x / y, -x", "x x y"),
            ("SELECT -v AS v, v + 1 AS x FROM t ORDER BY v + x", "x"),
            ("WITH c AS (SELECT k + 1 AS z FROM t) SELECT -z AS x FROM c ORDER BY x + 0", "x"),
            ("WITH c AS (SELECT k + 1 AS x FROM t) SELECT -x AS x FROM c ORDER BY x + 0", ""),
            ("WITH c (x) AS (SELECT k FROM t) SELECT -x AS x FROM c ORDER BY x + 0", ""),
            ("SELECT -z AS x FROM (SELECT k FROM t) AS u (x) ORDER BY x + 0", ""),
            ("SELECT 1 AS x FROM f(2) ORDER BY x + 0", ""),
            ("SELECT 1 AS x FROM (VALUES (1)) ORDER BY x + 0", ""),
            ("SELECT 1 AS \"a + 1\" FROM (SELECT a + 1 FROM t) ORDER BY \"a + 1\" + 0", ""),
        ] {
            assert_eq!(certain(sql), names, "{sql}");
        }
    }

    #[test]
    fn a_name_is_one_of_the_result_in_the_query_where_it_stands_alone() {
        let sql = "SELECT (SELECT -v AS v FROM t ORDER BY v + 0 LIMIT 1), (SELECT -k AS v FROM u ORDER BY 0 + v LIMIT 1)";
        let statement = DFParser::parse_sql(sql).ok().and_then(|mut statements| statements.pop_front()).unwrap();
        let (_, mentions) = order_by_input(&statement, &HashSet::new()).unwrap();
        assert_eq!(mentions.len(), 2);
        for mention in mentions {
            let (_, others) = order_by_input(&statement, &HashSet::from([mention.clone()])).unwrap();
            assert!(others.len() == 1 && !others.contains(&mention));
        }
    }
}
