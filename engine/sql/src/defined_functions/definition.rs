//! The definitions by their names.

use std::collections::HashMap;
use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{Expr, Value, ValueWithSpan};

use super::definitions::{AGGREGATES, SCALARS};
use crate::fragments::expr_of;

pub(super) static DEFINED: LazyLock<HashMap<&'static str, Vec<Definition>>> = LazyLock::new(|| {
    let mut defined: HashMap<&str, Vec<Definition>> = HashMap::new();
    for (names, parameters, body) in SCALARS.into_iter().chain(AGGREGATES) {
        // A test parses all of them.
        let Ok(expr) = expr_of(body) else { continue };
        let list = parameters.split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
        let list: Vec<Parameter> = list.map(Parameter::of).collect();
        for name in names.split(' ') {
            let definition = Definition { signature: parameters, parameters: list.clone(), body: expr.clone() };
            defined.entry(name).or_default().push(definition);
        }
    }
    defined
});

pub(super) struct Definition {
    pub signature: &'static str,
    pub parameters: Vec<Parameter>,
    pub body: Expr,
}

#[derive(Clone)]
pub(super) enum Parameter {
    Name(&'static str),
    /// The call has this text there.
    Text(&'static str),
}

impl Parameter {
    fn of(text: &'static str) -> Parameter {
        match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(text) => Parameter::Text(text),
            None => Parameter::Name(text),
        }
    }

    pub fn fits(&self, argument: &Expr) -> bool {
        match self {
            Parameter::Name(_) => true,
            // `'days'` is `'day'`.
            Parameter::Text(text) => text_of(argument).is_some_and(|given| {
                let given = given.to_ascii_lowercase();
                given == *text || given.strip_suffix('s') == Some(text)
            }),
        }
    }
}

/// Whether a statement can call a function by this name, which stands for an expression.
pub fn is_defined(name: &str) -> bool {
    DEFINED.contains_key(name)
}

/// All names.
pub fn defined_names() -> impl Iterator<Item = &'static str> {
    DEFINED.keys().copied()
}

/// A function as the catalogue shows it.
pub struct DefinedFunction {
    pub name: &'static str,
    /// The first of the names of the definition.
    pub first_name: &'static str,
    pub parameters: &'static str,
    pub body: &'static str,
    pub is_aggregate: bool,
}

/// Each definition under each of its names.
pub fn defined_functions() -> impl Iterator<Item = DefinedFunction> {
    let all = SCALARS.into_iter().map(|definition| (definition, false)).chain(AGGREGATES.into_iter().map(|definition| (definition, true)));
    all.flat_map(|((names, parameters, body), is_aggregate)| {
        let first_name = names.split(' ').next().unwrap_or(names);
        names.split(' ').map(move |name| DefinedFunction { name, first_name, parameters, body, is_aggregate })
    })
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}
