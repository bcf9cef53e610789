//! The names that WITH defines, for a visitor of the queries of a statement. They come before stored tables of the same name.

use datafusion::sql::sqlparser::ast::{Ident, Query};

/// The scopes of the enclosing queries, the outermost first.
#[derive(Default)]
pub struct CteScopes(Vec<Scope>);

/// The names that WITH defines in a query.
struct Scope {
    names: Vec<String>,
    /// How many of them are visible: a query of WITH sees the previous ones, or all if it may be recursive.
    visible: usize,
}

impl CteScopes {
    /// For `pre_visit_query`.
    pub fn enter(&mut self, query: &Query, normalized: impl Fn(&Ident) -> String) {
        let names: Vec<String> = query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| normalized(&cte.alias.name)).collect();
        let is_recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        let visible = if is_recursive { names.len() } else { 0 };
        self.0.push(Scope { names, visible });
    }

    /// For `post_visit_query`. The queries of WITH are visited before the rest of their query.
    pub fn leave(&mut self) {
        self.0.pop();
        if let Some(outer) = self.0.last_mut() {
            outer.visible = (outer.visible + 1).min(outer.names.len());
        }
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|scope| scope.names[..scope.visible].iter().any(|cte| cte == name))
    }
}
