//! Finds the function for an anchor.

use std::fmt::Display;
use std::sync::Arc;

use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use engine::{PlanFunction, TableFunction};

use super::user::UserFunctions;
use super::{aggregates, own, standard, table, windows};
use crate::declared::{Declared, DeclaredName, Origin};
use crate::error::PlanError;
use crate::quirks::Quirks;

/// Finds the functions of one plan.
#[derive(Clone, Copy)]
pub struct Finder<'a> {
    pub declared: &'a Declared,
    pub quirks: Quirks,
    pub state: &'a SessionState,
    pub user_functions: &'a UserFunctions,
}

/// A function and its name for errors.
pub struct Found<F> {
    /// The name as the plan declares it.
    pub shown: String,
    pub origin: Origin,
    pub form: F,
}

pub enum Scalar {
    Table(&'static table::Entry),
    Registered(Arc<ScalarUDF>),
}

pub enum Aggregate {
    Table(&'static aggregates::Entry),
    Registered(Arc<AggregateUDF>),
}

pub enum Window {
    Table(&'static windows::Entry),
    Registered(Arc<WindowUDF>),
    Aggregate(Aggregate),
}

impl Finder<'_> {
    pub fn scalar(&self, anchor: u32, place: &dyn Display) -> Result<Found<Scalar>, PlanError> {
        self.find(anchor, place, |name, origin| {
            let in_standard = || standard::find(name).map(Scalar::Table);
            let in_own = || own::find(name).map(Scalar::Table);
            let registered = || self.state.udf(name).ok().map(Scalar::Registered);
            match origin {
                Origin::Standard => in_standard(),
                Origin::Ours => registered().or_else(in_own),
                Origin::Unsaid if self.quirks.own_names_first => registered().or_else(in_standard).or_else(in_own),
                Origin::Unsaid => in_standard().or_else(in_own).or_else(registered),
                Origin::User => match self.user_functions.get(&anchor)? {
                    PlanFunction::Scalar(function) => Some(Scalar::Registered(Arc::clone(function))),
                    _ => None,
                },
                Origin::Other => None,
            }
        })
    }

    pub fn aggregate(&self, anchor: u32, place: &dyn Display) -> Result<Found<Aggregate>, PlanError> {
        self.find(anchor, place, |name, origin| match origin {
            Origin::User => match self.user_functions.get(&anchor)? {
                PlanFunction::Aggregate(function) => Some(Aggregate::Registered(Arc::clone(function))),
                _ => None,
            },
            origin => self.aggregate_named(name, origin),
        })
    }

    /// Every aggregate is a window function too.
    pub fn window(&self, anchor: u32, place: &dyn Display) -> Result<Found<Window>, PlanError> {
        self.find(anchor, place, |name, origin| {
            let in_table = || windows::find(name).map(Window::Table);
            let registered = || self.state.udwf(name).ok().map(Window::Registered);
            let aggregate = || self.aggregate_named(name, origin).map(Window::Aggregate);
            match origin {
                Origin::Standard => in_table().or_else(aggregate),
                Origin::Ours | Origin::Unsaid => in_table().or_else(registered).or_else(aggregate),
                Origin::User | Origin::Other => None,
            }
        })
    }

    /// A function of a user in FROM.
    pub fn table_function(&self, anchor: u32, place: &dyn Display) -> Result<Found<Arc<TableFunction>>, PlanError> {
        self.find(anchor, place, |_, _| match self.user_functions.get(&anchor)? {
            PlanFunction::Table(function) => Some(Arc::clone(function)),
            _ => None,
        })
    }

    fn aggregate_named(&self, name: &str, origin: Origin) -> Option<Aggregate> {
        let in_table = || aggregates::find(name).map(Aggregate::Table);
        let registered = || self.state.udaf(name).ok().map(Aggregate::Registered);
        match origin {
            Origin::Standard => in_table(),
            Origin::Ours => registered().or_else(in_table),
            Origin::Unsaid => in_table().or_else(registered),
            Origin::User | Origin::Other => None,
        }
    }

    fn find<F>(&self, anchor: u32, place: &dyn Display, find: impl FnOnce(&str, Origin) -> Option<F>) -> Result<Found<F>, PlanError> {
        let unknown = |named: Option<&DeclaredName>| PlanError::UnknownFunction {
            name: named.map_or_else(|| "a function that the plan does not declare".to_string(), |named| named.name.clone()),
            anchor,
            uri: named.and_then(|named| named.urn.clone()),
            place: place.to_string(),
        };
        let named = self.declared.functions.get(&anchor).ok_or_else(|| unknown(None))?;
        let form = find(&named.base(), named.origin()).ok_or_else(|| unknown(Some(named)))?;
        Ok(Found { shown: named.name.clone(), origin: named.origin(), form })
    }
}

impl<F> Found<F> {
    /// The position for errors in a call of it.
    pub fn place(&self) -> String {
        format!("a call of \"{}\"", self.shown.chars().take(80).collect::<String>().escape_default())
    }

    fn arity(&self, counts: Option<(usize, usize)>, found: usize, place: &dyn Display) -> Result<(), PlanError> {
        let Some((least, most)) = counts.filter(|(least, most)| !(*least..=*most).contains(&found)) else { return Ok(()) };
        let expected = match most {
            most if most == least => least.to_string(),
            usize::MAX => format!("at least {least}"),
            most => format!("{least} to {most}"),
        };
        let what = format!("the function \"{}\" with {found} arguments, where it takes {expected}", self.shown);
        Err(PlanError::invalid(what, place))
    }
}

impl Found<Scalar> {
    /// DataFusion reads the arguments of its functions when it derives types, so their number is checked first.
    pub fn check_arity(&self, arguments: usize, place: &dyn Display) -> Result<(), PlanError> {
        let counts = match &self.form {
            Scalar::Table(entry) => Some(entry.arity()),
            Scalar::Registered(_) => None,
        };
        self.arity(counts, arguments, place)
    }
}

impl Found<Aggregate> {
    pub fn check_arity(&self, arguments: usize, place: &dyn Display) -> Result<(), PlanError> {
        self.arity(self.form.arity(), arguments, place)
    }
}

impl Found<Window> {
    pub fn check_arity(&self, arguments: usize, place: &dyn Display) -> Result<(), PlanError> {
        let counts = match &self.form {
            Window::Table(entry) => Some(entry.arity),
            Window::Registered(_) => None,
            Window::Aggregate(aggregate) => aggregate.arity(),
        };
        self.arity(counts, arguments, place)
    }
}

impl Aggregate {
    fn arity(&self) -> Option<(usize, usize)> {
        match self {
            Aggregate::Table(entry) => Some(entry.arity),
            Aggregate::Registered(_) => None,
        }
    }
}
