//! Resolves names among joined tables with merged columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, ExcludeSelectItem, Expr, Ident, ObjectName, Query, ReplaceSelectElement, ReplaceSelectItem, SelectItem,
    SelectItemQualifiedWildcardKind, VisitMut, VisitorMut, WildcardAdditionalOptions,
};

use crate::walk::WalkMut;
use common::error::EngineError;

pub const JOIN_ON: &str = "join ON the columns, and select coalesce(a.x, b.x)";

pub fn refused(what: &str, hint: &str) -> EngineError {
    EngineError::unsupported(format!("FULL or RIGHT JOIN … USING {what}"), Some(hint))
}

pub fn refused_name(what: &str) -> EngineError {
    refused(what, JOIN_ON)
}

pub struct JoinedColumns {
    /// From left to right: the qualifier, if there is one, and the columns that were merged into earlier ones.
    pub relations: Vec<(Option<Vec<Ident>>, Vec<Ident>)>,
    pub merged: Vec<Merged>,
}

/// A column that merges several; it is listed with the first relation.
pub struct Merged {
    pub name: String,
    pub value: Expr,
}

impl JoinedColumns {
    /// Items keep their names when they become expressions, and `*` is expanded. Returns the names of the result's columns that can be the
    /// name of a merged column.
    pub fn name_outputs(&self, projection: &mut Vec<SelectItem>) -> Result<Vec<String>, EngineError> {
        let mut outputs = Vec::new();
        let mut items = Vec::with_capacity(projection.len());
        for item in projection.drain(..) {
            match item {
                SelectItem::Wildcard(options) => {
                    let token = options.wildcard_token.clone();
                    let is_plain = options == WildcardAdditionalOptions { wildcard_token: token, ..Default::default() };
                    let all = self.wildcards().filter(|_| is_plain);
                    items.extend(all.ok_or_else(|| refused("with this *", "name the columns to select"))?);
                    outputs.extend(self.merged.iter().map(|column| column.name.clone()));
                }
                SelectItem::UnnamedExpr(Expr::Identifier(name)) if self.value_of(&name).is_some() => {
                    outputs.push(normalized(&name));
                    items.push(SelectItem::ExprWithAlias { expr: Expr::Identifier(name.clone()), alias: name });
                }
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    outputs.extend(parts.last().map(normalized));
                    items.push(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    outputs.push(normalized(&alias));
                    items.push(SelectItem::ExprWithAlias { expr, alias });
                }
                other => items.push(other),
            }
        }
        *projection = items;
        Ok(outputs)
    }

    /// For each relation, the columns that were not merged into earlier ones.
    fn wildcards(&self) -> Option<Vec<SelectItem>> {
        let replace = self.merged.iter().map(|column| {
            let column_name = Ident::with_quote('"', &column.name);
            Box::new(ReplaceSelectElement { expr: column.value.clone(), column_name, as_keyword: true })
        });
        let replace = ReplaceSelectItem { items: replace.collect() };
        let items = self.relations.iter().enumerate().map(|(index, (name, merged))| {
            let mut options = WildcardAdditionalOptions::default();
            if index == 0 {
                options.opt_replace = Some(replace.clone());
            } else if !merged.is_empty() {
                let names = merged.iter().cloned().map(|name| ObjectName::from(vec![name]));
                options.opt_exclude = Some(ExcludeSelectItem::Multiple(names.collect()));
            }
            let name = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(name.clone()?));
            Some(SelectItem::QualifiedWildcard(name, options))
        });
        items.collect()
    }

    fn value_of(&self, name: &Ident) -> Option<&Expr> {
        let name = normalized(name);
        self.merged.iter().find(|column| column.name == name).map(|column| &column.value)
    }

    fn has_relation(&self, name: &Ident) -> bool {
        let name = normalized(name);
        self.relations.iter().filter_map(|(relation, _)| relation.as_ref()).flatten().any(|part| normalized(part) == name)
    }

    /// Replaces the names of merged columns by their values.
    pub fn replace_in(&self, part: &mut impl VisitMut) -> Result<(), EngineError> {
        match part.walk_mut(&mut ColumnReplacer { joined: self, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(name) => Err(refused_name(&format!("with \"{name}\" in a subquery, or a field of it"))),
        }
    }
}

struct ColumnReplacer<'a> {
    joined: &'a JoinedColumns,
    /// The depth of subqueries, where the name may mean a column of another table.
    depth: usize,
}

impl VisitorMut for ColumnReplacer<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let is_merged = |name: &&Ident| self.joined.value_of(name).is_some();
        let unclear = match expr {
            Expr::Identifier(name) if self.depth > 0 => Some(&*name).filter(is_merged),
            Expr::CompoundIdentifier(parts) => parts.first().filter(is_merged).filter(|first| !self.joined.has_relation(first)),
            // The visitor sees `name` of `x[1].name` as a column.
            Expr::CompoundFieldAccess { access_chain, .. } => access_chain.iter().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(name)) => Some(name).filter(is_merged),
                _ => None,
            }),
            _ => None,
        };
        match unclear {
            Some(name) => ControlFlow::Break(name.value.clone()),
            None => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if let Expr::Identifier(name) = expr
            && let Some(value) = self.joined.value_of(name)
        {
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}

/// The normalized name: in lower case unless it is quoted.
pub fn normalized(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}
