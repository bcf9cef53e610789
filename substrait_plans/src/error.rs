//! Errors of plans as users see them: one clear sentence, the position in the plan, and what to do.

use engine::{EngineError, ErrorKind};

use crate::refusal::Refusal;

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("the plan has {size_bytes} bytes, and plans of at most {limit_bytes} bytes are read; send data as a table and not as literals")]
    TooLarge { size_bytes: usize, limit_bytes: usize },
    #[error("the plan is nested more than {limit} messages deep; write `a AND b AND c` as one function with three arguments")]
    TooDeep { limit: usize },
    #[error("the plan has more than {limit} {what}; ask for less in one plan")]
    TooMany { what: &'static str, limit: usize },
    #[error("this is no Substrait plan that can be read: {what}")]
    Malformed { what: String },
    #[error(
        "the plan is of Substrait {found}{producer}, and versions up to {newest} are read{why}; let its producer write an older version"
    )]
    NewerVersion { found: String, producer: String, newest: String, why: &'static str },
    #[error("the function \"{name}\" (anchor {anchor}, {}) at {place} is not known here", origin(.uri))]
    UnknownFunction { name: String, anchor: u32, uri: Option<String>, place: String },
    #[error("the type \"{name}\" (anchor {anchor}, {}) at {place} is not known here", origin(.uri))]
    UnknownType { name: String, anchor: u32, uri: Option<String>, place: String },
    #[error("{what} is not supported, at {place}")]
    Unsupported { what: String, place: String },
    #[error("{what} is missing at {place}")]
    Missing { what: String, place: String },
    #[error("{what}, at {place}")]
    Invalid { what: String, place: String },
    #[error("there is no table \"{name}\" for {place}")]
    NoTable { name: String, place: String },
    /// The plan was made for another table of that name, or for an older schema of it.
    #[error("the plan does not fit the table \"{table}\": {what}; make it anew ({place})")]
    Schema { table: String, what: String, place: String },
    /// The engine rejected the plan, for example because of types.
    #[error("{error}, at {place}")]
    Planning { error: EngineError, place: String },
    /// A library panicked, which only a fault in the plan explains.
    #[error("the plan cannot be read: {what}; please report it")]
    Panicked { what: String },
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The plan is small, but its expansion is too large.
    #[error(
        "columns of columns make the expressions more than {limit} parts longer than they are written, at {place}; aggregate in between"
    )]
    TooIntricate { limit: usize, place: String },
    /// A query of ours, or a part of it, cannot be expressed as a plan.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl PlanError {
    /// For front ends that return codes.
    pub fn kind(&self) -> ErrorKind {
        match self {
            PlanError::UnknownFunction { .. } | PlanError::UnknownType { .. } | PlanError::Unsupported { .. } | PlanError::Refused(_) => {
                ErrorKind::Unsupported
            }
            // As for SQL with a missing table.
            PlanError::NoTable { .. }
            | PlanError::TooLarge { .. }
            | PlanError::TooDeep { .. }
            | PlanError::TooMany { .. }
            | PlanError::TooIntricate { .. }
            | PlanError::Malformed { .. }
            | PlanError::NewerVersion { .. }
            | PlanError::Missing { .. }
            | PlanError::Invalid { .. }
            | PlanError::Schema { .. }
            | PlanError::Panicked { .. } => ErrorKind::Invalid,
            PlanError::Planning { error, .. } => match error.kind() {
                // An internal error here was caused by the plan.
                ErrorKind::Internal => ErrorKind::Invalid,
                kind => kind,
            },
            PlanError::Engine(error) => error.kind(),
        }
    }

    /// A hint for the user.
    pub fn hint(&self) -> Option<&str> {
        match self {
            PlanError::Planning { error, .. } | PlanError::Engine(error) => error.hint(),
            _ => None,
        }
    }

    /// Prefixes the path of the relation, if the error has only a path within one.
    pub(crate) fn within(mut self, rel: &str) -> PlanError {
        match &mut self {
            PlanError::UnknownFunction { place, .. }
            | PlanError::UnknownType { place, .. }
            | PlanError::Unsupported { place, .. }
            | PlanError::Missing { place, .. }
            | PlanError::Invalid { place, .. }
            | PlanError::NoTable { place, .. }
            | PlanError::Schema { place, .. }
            | PlanError::Planning { place, .. }
                if !place.contains("relations[") =>
            {
                *place = format!("{place} in {rel}");
            }
            _ => {}
        }
        self
    }

    pub(crate) fn missing(what: impl Into<String>, place: impl ToString) -> PlanError {
        PlanError::Missing { what: what.into(), place: place.to_string() }
    }

    pub(crate) fn invalid(what: impl Into<String>, place: impl ToString) -> PlanError {
        PlanError::Invalid { what: what.into(), place: place.to_string() }
    }

    pub(crate) fn unsupported(what: impl Into<String>, place: impl ToString) -> PlanError {
        PlanError::Unsupported { what: what.into(), place: place.to_string() }
    }
}

fn origin(uri: &Option<String>) -> String {
    match uri {
        Some(uri) => format!("of {uri}"),
        None => "of no declared extension".to_string(),
    }
}
