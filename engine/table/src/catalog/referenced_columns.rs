//! The columns that a query may reference, found in its syntax tree before planning: those that it names, or all if it may reference one
//! without naming it, as `*` does.

use std::collections::HashSet;
use std::ops::ControlFlow;

use arrow::datatypes::Schema;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectNamePart,
    Query, Select, SelectFlavor, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Visitor,
};
use sql::walk::{Walk, sql_statement};

/// Lower case. Some identifiers are case-folded and some are not; a false positive only costs one extra column.
#[derive(Debug)]
pub struct ReferencedColumns {
    lowered: HashSet<String>,
    /// By [`shape`]: whether one of the names has this shape. It rules out most columns of a wide table.
    shapes: [bool; SHAPES],
}

/// The query that a statement runs, explains or prepares.
pub fn query_of(statement: &Statement) -> Option<&Query> {
    sql_statement(statement).and_then(query_in)
}

fn query_in(statement: &ast::Statement) -> Option<&Query> {
    match statement {
        ast::Statement::Query(query) => Some(query),
        ast::Statement::Explain { statement, .. } | ast::Statement::Prepare { statement, .. } => query_in(statement),
        _ => None,
    }
}

impl ReferencedColumns {
    /// `None` if the query may reference columns that it does not name.
    ///
    /// **Invariant:** a construct that is not known here may reference any column.
    pub fn of(query: &Query) -> Option<ReferencedColumns> {
        let mut names = ColumnNames::default();
        match query.walk(&mut names) {
            ControlFlow::Continue(()) => Some(ReferencedColumns::new(names.0)),
            ControlFlow::Break(()) => None,
        }
    }

    fn new(lowered: HashSet<String>) -> ReferencedColumns {
        let mut shapes = [false; SHAPES];
        lowered.iter().for_each(|name| shapes[shape(name)] = true);
        ReferencedColumns { lowered, shapes }
    }

    /// The positions of the referenced columns, in the table's order. There is at least one, so that rows can be counted.
    pub fn places(&self, schema: &Schema) -> Vec<usize> {
        let fields = schema.fields();
        let mut places: Vec<usize> = (0..fields.len()).filter(|place| self.has(fields[*place].name())).collect();
        if places.is_empty() && !fields.is_empty() {
            places.push(0);
        }
        places
    }

    fn has(&self, column: &str) -> bool {
        (!column.is_ascii() || self.shapes[shape(column)]) && self.lowered.contains(&column.to_lowercase())
    }
}

const SHAPES: usize = 256;

/// A hash of the name that ignores the case of ASCII letters.
fn shape(name: &str) -> usize {
    let last = name.as_bytes().last().map_or(0, u8::to_ascii_lowercase);
    (name.len() * 37 + usize::from(last)) % SHAPES
}

#[derive(Default)]
struct ColumnNames(HashSet<String>);

impl ColumnNames {
    fn add<'a>(&mut self, names: impl IntoIterator<Item = &'a Ident>) {
        self.0.extend(names.into_iter().map(|name| name.value.to_lowercase()));
    }

    /// Whether the item is a single column. Its alias is added, because it may be ambiguous beside a table with a column of that name.
    fn add_item(&mut self, item: &SelectItem) -> bool {
        match item {
            SelectItem::UnnamedExpr(_) => true,
            SelectItem::ExprWithAlias { alias, .. } => {
                self.add([alias]);
                true
            }
            _ => false,
        }
    }

    /// Whether the join states its columns explicitly. Columns of USING are added; an ON condition is an expression like any other.
    fn add_joined(&mut self, joins: &[Join]) -> bool {
        joins.iter().all(|join| match constraint_of(&join.join_operator) {
            Some(JoinConstraint::Using(columns)) => {
                self.add(columns.iter().flat_map(|column| &column.0).filter_map(ObjectNamePart::as_ident));
                true
            }
            Some(JoinConstraint::On(_) | JoinConstraint::None) => true,
            Some(JoinConstraint::Natural) | None => false,
        })
    }
}

impl Visitor for ColumnNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        named_if(query.pipe_operators.is_empty() && query.for_clause.is_none() && is_of_items(&query.body))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_known = select.flavor != SelectFlavor::FromFirstNoSelect
            && select.exclude.is_none()
            && select.value_table_mode.is_none()
            && select.lateral_views.is_empty()
            && select.connect_by.is_empty()
            && select.projection.iter().all(|item| self.add_item(item))
            && select.from.iter().all(|table| self.add_joined(&table.joins));
        named_if(is_known && are_told_apart(&select.from) && has_names_beside(&select.from))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        named_if(match factor {
            TableFactor::Table { alias, args: None, .. } => !names_by_place(alias),
            // The alias gives numbers to columns of equal names, and so depends on all columns.
            TableFactor::NestedJoin { table_with_joins, alias } => alias.is_none() && self.add_joined(&table_with_joins.joins),
            TableFactor::Derived { .. } | TableFactor::UNNEST { .. } => true,
            // Functions may read tables that their arguments name.
            _ => false,
        })
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.add([name]),
            Expr::CompoundIdentifier(parts) => self.add(parts),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) | Expr::MatchAgainst { .. } => return ControlFlow::Break(()),
            Expr::Function(function) => return named_if(takes_values(function)),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn named_if(is_named: bool) -> ControlFlow<()> {
    if is_named { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Whether all columns of a query's body come from SELECT items or VALUES.
fn is_of_items(mut body: &SetExpr) -> bool {
    loop {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => return true,
            // Long chains of them are nested on the left.
            SetExpr::SetOperation { left, right, .. } if is_of_items(right) => body = left,
            _ => return false,
        }
    }
}

/// `AS t (a, b)` renames the first columns by position.
fn names_by_place(alias: &Option<TableAlias>) -> bool {
    alias.as_ref().is_some_and(|alias| !alias.columns.is_empty() || alias.at.is_some())
}

/// Whether all tables of this FROM clause have different names. DataFusion refuses two of one name if they share a column name, even if
/// the query does not reference it.
fn are_told_apart(tables: &[TableWithJoins]) -> bool {
    let mut names = HashSet::new();
    tables.iter().all(|table| add_tables(table, &mut names))
}

fn add_tables(table: &TableWithJoins, names: &mut HashSet<String>) -> bool {
    let joined = table.joins.iter().map(|join| &join.relation);
    std::iter::once(&table.relation).chain(joined).all(|factor| {
        let name = match factor {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. } => Some(&alias.name),
            TableFactor::Table { name, .. } => name.0.last().and_then(ObjectNamePart::as_ident),
            TableFactor::NestedJoin { table_with_joins, alias: None } => return add_tables(table_with_joins, names),
            _ => None,
        };
        name.is_none_or(|name| names.insert(name.value.to_lowercase()))
    })
}

/// Whether all subqueries in FROM have known column names, if there is a table beside them. A subquery without an alias has unqualified
/// columns, which are ambiguous beside a table with a column of the same name, even if the query does not reference them.
fn has_names_beside(tables: &[TableWithJoins]) -> bool {
    let mut factors = Vec::new();
    tables.iter().for_each(|table| add_factors(table, &mut factors));
    factors.len() < 2 || factors.into_iter().all(has_known_names)
}

fn add_factors<'a>(table: &'a TableWithJoins, factors: &mut Vec<&'a TableFactor>) {
    for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => add_factors(table_with_joins, factors),
            factor => factors.push(factor),
        }
    }
}

/// Written names are among those of the statement; the planner makes up others, such as `column1` of VALUES.
fn has_known_names(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Derived { alias: None, subquery, .. } => are_named(&subquery.body),
        TableFactor::UNNEST { alias: None, .. } => false,
        _ => true,
    }
}

/// A set operation takes the names of its first query.
fn are_named(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.projection.iter().all(|item| {
            matches!(item, SelectItem::ExprWithAlias { .. } | SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)))
        }),
        SetExpr::Query(query) => are_named(&query.body),
        SetExpr::SetOperation { left, .. } => are_named(left),
        _ => false,
    }
}

/// Whether no argument expands to several columns. The `*` of `count(*)` does not.
fn takes_values(function: &Function) -> bool {
    let counts = || function.name.to_string().eq_ignore_ascii_case("count");
    let is_value = |argument: &FunctionArg| {
        let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) = argument;
        match arg {
            FunctionArgExpr::Expr(_) => true,
            FunctionArgExpr::Wildcard => counts(),
            FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::WildcardWithOptions(_) => false,
        }
    };
    [&function.args, &function.parameters].into_iter().all(|arguments| match arguments {
        FunctionArguments::List(list) => list.args.iter().all(is_value),
        FunctionArguments::None | FunctionArguments::Subquery(_) => true,
    })
}

pub fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use datafusion::sql::parser::DFParser;

    use super::*;

    const COLUMNS: [&str; 9] = ["id", "A", "b", "c", "größe", "s", "item", "Two Words", "z"];

    /// The columns that a statement may reference, or `all`.
    fn referenced(sql: &str) -> String {
        let statement = DFParser::parse_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).pop_front().unwrap();
        let schema = Schema::new(COLUMNS.map(|name| Field::new(name, DataType::Int64, true)).to_vec());
        let Some(named) = query_of(&statement).and_then(ReferencedColumns::of) else { return "all".to_string() };
        named.places(&schema).into_iter().map(|place| COLUMNS[place]).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_column_is_named_wherever_it_stands() {
        for sql in [
            "SELECT z FROM t",
            "SELECT 1 FROM t WHERE t.z > 1",
            "SELECT max(z) OVER (PARTITION BY 1) FROM t",
            "SELECT max(1) OVER w FROM t WINDOW w AS (ORDER BY z)",
            "SELECT 1 FROM t GROUP BY GROUPING SETS ((z), ())",
            "SELECT 1 FROM t HAVING count(*) FILTER (WHERE z IS NULL) > 1",
            "SELECT 1 FROM t ORDER BY main.t.z DESC",
            "SELECT 1 FROM t JOIN u USING (z)",
            "SELECT 1 FROM v, (t LEFT JOIN u USING (z))",
            "SELECT 1 FROM t JOIN u ON t.z = 1",
            "SELECT (SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t WHERE z = 1))",
            "WITH c AS (SELECT z FROM t) SELECT 1 FROM c",
            "SELECT 1 FROM t UNION ALL SELECT 2 FROM t UNION ALL (SELECT z FROM t LIMIT 1)",
            "SELECT x.y FROM t, LATERAL (SELECT z AS y) AS x",
            "SELECT t.z.field, z['field'], z[1] FROM t",
            "SELECT u.x FROM t, UNNEST(t.z) AS u(x)",
            "SELECT DISTINCT ON (z) 1 FROM t QUALIFY row_number() OVER (ORDER BY z) = 1",
            "SELECT array_agg(1 ORDER BY z), percentile_cont(0.5) WITHIN GROUP (ORDER BY z) FROM t",
            "SELECT CASE z WHEN 1 THEN 2 END FROM t",
            "EXPLAIN ANALYZE SELECT z FROM t",
            "PREPARE p AS SELECT z FROM t WHERE 1 = $1",
            "SELECT z * 2 FROM t",
            "SELECT 1 FROM t, (SELECT 2 AS z)",
            "SELECT 1 FROM t x, t y WHERE x.z = 1 AND 1 < (SELECT count(*) FROM t)",
            "SELECT 1 FROM t, (SELECT 1 UNION SELECT 2) AS y WHERE t.z = 1",
            "SELECT 1 FROM t, (VALUES (1)) AS y WHERE z = 1",
            "SELECT 1 FROM (SELECT z + 1 FROM t)",
            "SELECT 1 FROM u, (SELECT t.z FROM t UNION SELECT 1 + 1)",
        ] {
            assert_eq!(referenced(sql), "z", "{sql}");
        }
    }

    #[test]
    fn names_are_found_in_letters_of_any_case_and_in_the_order_of_the_table() {
        assert_eq!(referenced("SELECT GRÖSSE, C, \"B\", a FROM t"), "A b c");
        assert_eq!(referenced("SELECT \"GRÖßE\", \"two words\" FROM t"), "größe Two Words");
    }

    #[test]
    fn where_no_column_is_named_rows_are_counted_by_the_first() {
        for sql in ["SELECT count(*) FROM t", "SELECT 1 FROM t", "SELECT COUNT(*), t.nothing FROM t"] {
            assert_eq!(referenced(sql), "id", "{sql}");
        }
    }

    #[test]
    fn what_stands_for_columns_without_their_names_means_all_of_them() {
        for sql in [
            "SELECT * FROM t",
            "SELECT t.* FROM t",
            "SELECT z, * EXCLUDE (a) FROM t",
            "SELECT z FROM t WHERE EXISTS (SELECT * FROM u)",
            "SELECT z FROM t NATURAL JOIN u",
            "SELECT z FROM v, (t NATURAL LEFT JOIN u)",
            "SELECT count(t.*) FROM t",
            "SELECT array_agg(*) FROM t",
            "SELECT x FROM t AS u(x, y)",
            "SELECT z FROM v, (t CROSS JOIN u) AS j(z)",
            "SELECT z FROM kmeans('t', 'a', 3)",
            "SELECT z FROM t, LATERAL f(t.a) AS g",
            "SELECT z FROM t UNION ALL TABLE u",
            "SELECT z FROM (SELECT * FROM t)",
            "SELECT z FROM t, (u JOIN v AS T ON u.a = 1)",
            "SELECT z FROM t, (VALUES (1))",
            "SELECT z FROM t JOIN (SELECT max(z) FROM u) ON true",
            "SELECT z FROM t, (u CROSS JOIN (VALUES (1)))",
            "SELECT z FROM ((t CROSS JOIN (VALUES (1))))",
            "SELECT z FROM t, UNNEST([1, 2])",
            "WITH c AS (SELECT * FROM t) SELECT z FROM c",
        ] {
            assert_eq!(referenced(sql), "all", "{sql}");
        }
    }

    #[test]
    fn statements_that_are_no_queries_are_about_whole_tables() {
        for sql in [
            "INSERT INTO t SELECT z FROM u",
            "UPDATE t SET z = 1",
            "DELETE FROM t WHERE z = 1",
            "CREATE VIEW v AS SELECT z FROM t",
            "CREATE TABLE u AS SELECT z FROM t",
            "DESCRIBE t",
        ] {
            assert_eq!(referenced(sql), "all", "{sql}");
        }
    }
}
