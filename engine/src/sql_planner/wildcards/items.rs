//! Expands each `*` in the items of a SELECT list.

use std::collections::HashSet;

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, ObjectName, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use super::columns::{Columns, OutputColumn, ident};
use super::merged::has_merging;
use super::rewrite_needed::{has_leak, options_of};
use common::error::EngineError;
use sql::merged_names::normalized;

/// `columns` are those of each element of FROM. Returns whether anything changed.
pub fn expand_wildcards(select: &mut Select, columns: &[Columns]) -> Result<bool, EngineError> {
    let has_options = select.projection.iter().filter_map(options_of).any(|options| !is_plain(options));
    if !has_options && columns.iter().all(Columns::is_shown_right) && !has_leak(select) {
        return Ok(false);
    }
    let is_merging = has_merging(select);
    let mut items = Vec::with_capacity(select.projection.len());
    for item in select.projection.drain(..) {
        match item {
            SelectItem::Wildcard(options) => {
                let shown = columns.iter().flat_map(|columns| columns.all.iter().cloned()).collect();
                items.extend(with_options(shown, is_merging, options)?);
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) if !is_plain(&options) => {
                items.extend(with_options(of_table(&name, columns)?, is_merging, options)?);
            }
            other => items.push(other),
        }
    }
    select.projection = items;
    Ok(true)
}

fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    *options == WildcardAdditionalOptions { wildcard_token: options.wildcard_token.clone(), ..Default::default() }
}

fn of_table(name: &ObjectName, columns: &[Columns]) -> Result<Vec<OutputColumn>, EngineError> {
    let parts: Vec<String> = name.0.iter().filter_map(ObjectNamePart::as_ident).map(normalized).collect();
    let table = match parts.as_slice() {
        [table] => TableReference::bare(table.as_str()),
        [schema, table] => TableReference::partial(schema.as_str(), table.as_str()),
        [catalog, schema, table] => TableReference::full(catalog.as_str(), schema.as_str(), table.as_str()),
        _ => return Err(wrong(format!("there is no table {name}"))),
    };
    let is_its = |relation: &Option<TableReference>| relation.as_ref().is_some_and(|relation| relation.resolved_eq(&table));
    // A merged column is a column of each of its tables.
    let whole = columns.iter().flat_map(|columns| &columns.whole).filter(|column| is_its(&column.relation));
    let shown: Vec<OutputColumn> = whole.map(|column| OutputColumn { column: column.clone(), is_merged: false }).collect();
    match shown.is_empty() {
        true => Err(wrong(format!("there is no table {name}"))),
        false => Ok(shown),
    }
}

/// With `is_merging` a merged column is referenced by its name alone, see `merged_columns`.
fn with_options(
    mut shown: Vec<OutputColumn>,
    is_merging: bool,
    options: WildcardAdditionalOptions,
) -> Result<Vec<SelectItem>, EngineError> {
    let WildcardAdditionalOptions { wildcard_token: _, opt_ilike, opt_exclude, opt_except, opt_replace, opt_rename: _, opt_alias: _ } =
        options;
    let excluded = match opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => Vec::new(),
    };
    let excluded = excluded.iter().map(|name| match name.0.as_slice() {
        [part] => part.as_ident().cloned().ok_or_else(|| wrong(format!("{name} is no column"))),
        _ => Err(EngineError::unsupported("EXCLUDE with the name of a table", Some("name the column alone"))),
    });
    let mut excluded = excluded.collect::<Result<Vec<Ident>, _>>()?;
    excluded.extend(opt_except.into_iter().flat_map(|except| std::iter::once(except.first_element).chain(except.additional_elements)));
    let mut excluded_names = HashSet::new();
    for name in &excluded {
        let name = normalized(name);
        let before = shown.len();
        shown.retain(|shown| shown.column.name != name);
        if shown.len() == before {
            return Err(not_there(&name, "EXCLUDE", excluded_names.contains(&name)));
        }
        excluded_names.insert(name);
    }
    if let Some(ilike) = opt_ilike {
        shown.retain(|shown| is_like(&shown.column.name.to_lowercase(), &ilike.pattern.to_lowercase()));
    }
    if shown.is_empty() {
        return Err(wrong("* stands for no column here".to_string()));
    }
    let mut replaced = HashSet::new();
    let mut items: Vec<SelectItem> = shown.iter().map(|shown| SelectItem::UnnamedExpr(shown.expr(is_merging))).collect();
    for element in opt_replace.into_iter().flat_map(|replace| replace.items) {
        let name = normalized(&element.column_name);
        let places: Vec<usize> = (0..shown.len()).filter(|place| shown[*place].column.name == name).collect();
        if places.is_empty() || !replaced.insert(name.clone()) {
            return Err(not_there(&name, "REPLACE", !places.is_empty()));
        }
        for place in places {
            items[place] = SelectItem::ExprWithAlias { expr: element.expr.clone(), alias: ident(&name) };
        }
    }
    Ok(items)
}

fn not_there(name: &str, clause: &str, is_twice: bool) -> EngineError {
    match is_twice {
        true => wrong(format!("{clause} names the column \"{name}\" twice")),
        false => wrong(format!("* has no column \"{name}\" to {clause}")),
    }
}

/// `%` matches any text, and `_` any character.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('%') => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| is_like(&name[at..], rest.as_str()))
        }
        Some(sign) => {
            let mut signs = name.chars();
            signs.next().is_some_and(|first| (sign == '_' || sign == first) && is_like(signs.as_str(), rest.as_str()))
        }
    }
}

fn wrong(message: String) -> EngineError {
    EngineError::Sql { message, position: None, hint: None }
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_pattern_is_of_the_whole_name() {
        for (name, pattern, is) in
            [("col1", "col%", true), ("col1", "col", false), ("a", "_", true), ("ab", "_", false), ("xay", "%a%", true), ("", "%", true)]
        {
            assert_eq!(is_like(name, pattern), is, "{name} LIKE {pattern}");
        }
    }
}
