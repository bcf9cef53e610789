//! Checks the items and clauses of SELECT.

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, GroupByWithModifier, NamedWindowDefinition, NamedWindowExpr, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableWithJoins, Value, WildcardAdditionalOptions,
};

use super::function::check_window;
use super::relation::check_join;
use super::{Refusal, YES, no, unless};

pub fn check(select: &Select) -> Refusal {
    let Select {
        select_token: _,
        // Hints are comments.
        optimizer_hints: _,
        distinct,
        select_modifiers,
        top,
        // Only says where TOP was written.
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window,
        qualify: _,
        // Only says which of the two came first.
        window_before_qualify: _,
        value_table_mode,
        // Says where FROM was written, see `from_first`.
        flavor: _,
    } = select;
    match distinct {
        Some(Distinct::On(keys)) => {
            unless(!keys.is_empty(), "DISTINCT ON ()", "name the columns that are to be distinct")?;
            keys.iter().try_for_each(check_constant)?;
        }
        Some(Distinct::All | Distinct::Distinct) | None => {}
    }
    unless(select_modifiers.is_none(), "words such as STRAIGHT_JOIN behind SELECT", "leave them out")?;
    unless(top.is_none(), "TOP", "write LIMIT 5 at the end of the query")?;
    check_items(projection)?;
    unless(exclude.is_none(), "EXCLUDE behind the list of a SELECT", "write it behind the *, as in SELECT * EXCLUDE (a)")?;
    unless(into.is_none(), "INTO in a part of a statement", "write INTO into the first SELECT of a statement of its own")?;
    for TableWithJoins { relation: _, joins } in from {
        joins.iter().try_for_each(check_join)?;
    }
    unless(lateral_views.is_empty(), "LATERAL VIEW", "use unnest()")?;
    unless(prewhere.is_none(), "PREWHERE", "use WHERE: the engine reads filtered columns first by itself")?;
    unless(connect_by.is_empty(), "CONNECT BY", "use WITH RECURSIVE")?;
    check_group_by(group_by)?;
    unless(cluster_by.is_empty(), "CLUSTER BY of a query", "use ORDER BY")?;
    unless(distribute_by.is_empty(), "DISTRIBUTE BY", "leave it out")?;
    unless(sort_by.is_empty(), "SORT BY", "use ORDER BY")?;
    for NamedWindowDefinition(_, window) in named_window {
        match window {
            NamedWindowExpr::NamedWindow(_) => {}
            NamedWindowExpr::WindowSpec(window) => check_window(window)?,
        }
    }
    unless(value_table_mode.is_none(), "SELECT AS STRUCT", "use struct(…)")
}

fn check_group_by(group_by: &GroupByExpr) -> Refusal {
    let modifiers = match group_by {
        GroupByExpr::All(modifiers) => modifiers,
        GroupByExpr::Expressions(keys, modifiers) => {
            keys.iter().try_for_each(check_constant)?;
            modifiers
        }
    };
    match modifiers.first() {
        None => YES,
        Some(modifier) => match modifier {
            GroupByWithModifier::Rollup
            | GroupByWithModifier::Cube
            | GroupByWithModifier::Totals
            | GroupByWithModifier::GroupingSets(_) => {
                no(&format!("GROUP BY … {modifier}"), "write GROUP BY ROLLUP (…), CUBE (…) or GROUPING SETS (…)")
            }
        },
    }
}

/// Checks a key of ORDER BY, GROUP BY or DISTINCT ON: as in PostgreSQL a number is a position in the SELECT list, and other constants have
/// no meaning.
pub fn check_constant(key: &Expr) -> Refusal {
    let Expr::Value(value) = key else { return YES };
    match &value.value {
        Value::Number(number, _) => unless(
            number.bytes().all(|digit| digit.is_ascii_digit()),
            &format!("the constant {number} in ORDER BY, GROUP BY or DISTINCT ON"),
            "name a column, or its place in the SELECT list: 1, 2, …",
        ),
        Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_) | Value::DollarQuotedString(_) | Value::Boolean(_) => no(
            &format!("the constant {key} in ORDER BY, GROUP BY or DISTINCT ON"),
            "name a column; a name in quotes has double ones, as in \"a\"",
        ),
        _ => YES,
    }
}

pub fn check_items(items: &[SelectItem]) -> Refusal {
    items.iter().try_for_each(|item| match item {
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { expr: _, alias: _ } => YES,
        SelectItem::ExprWithAliases { expr: _, aliases: _ } => no("several names for an item of a SELECT", "give it one name"),
        SelectItem::Wildcard(options) => check_wildcard(options),
        SelectItem::QualifiedWildcard(kind, options) => {
            match kind {
                SelectItemQualifiedWildcardKind::ObjectName(_) => {}
                SelectItemQualifiedWildcardKind::Expr(_) => return no("(…).* of an expression", "use unnest() of the struct"),
            }
            check_wildcard(options)
        }
    })
}

fn check_wildcard(options: &WildcardAdditionalOptions) -> Refusal {
    // The others are supported, see `wildcards`.
    let WildcardAdditionalOptions { wildcard_token: _, opt_ilike: _, opt_exclude: _, opt_except: _, opt_replace: _, opt_rename, opt_alias } =
        options;
    unless(opt_rename.is_none(), "* RENAME", "name the columns with AS")?;
    unless(opt_alias.is_none(), "* AS a name", "name the columns")
}
