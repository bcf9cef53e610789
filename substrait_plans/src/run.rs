//! The interface for front ends: runs serialized plans, and serializes the plans of SQL queries.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use engine::{Binding, Description, EngineError, PlanContext, QueryOutput, Session};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::consumer::logical_plan;
use crate::declared::{Declared, DeclaredName, Origin};
use crate::decode::{Limits, NEWEST_MINOR, decode, encode, encode_with_uris};
use crate::error::PlanError;
use crate::format::{PlanFormat, parse, render};
use crate::producer::produce;
use crate::proto::Plan;
use crate::user_functions::{hash_of, name_of};
use crate::walk::{PlanPart, each, tables_of};

/// The oldest supported version of Substrait; the older forms of its plans are supported.
pub const VERSION_MIN: &str = "0.1.0";

/// The line of a plan in lists and the audit has at most this many tables, and this much of their names.
const TABLES_SHOWN_MAX: usize = 20;
const NAME_CHARS_MAX: usize = 100;
const FUNCTIONS_SHOWN_MAX: usize = 20;
const HASH_CHARS_SHOWN: usize = 12;

/// The newest supported version, such as `0.87.0`.
pub fn version_max() -> String {
    format!("0.{NEWEST_MINOR}.0")
}

/// Runs a serialized `substrait.Plan` as `Session::execute` runs SQL: it starts when its output is polled. Lists and the audit show it as
/// one line with its tables.
pub async fn run(session: &Session, plan: &[u8], binding: &Binding) -> Result<QueryOutput, PlanError> {
    let Reading { text, failure, build } = Reading::of(plan);
    let output = session.execute_plan_of(&text, plan.len(), binding, build).await;
    output.map_err(|error| failure.of(error))
}

/// The same with a row of `parameters` as the values of the plan's dynamic parameters, in the order of their references.
pub async fn run_with(
    session: &Session,
    plan: &[u8],
    binding: &Binding,
    parameters: &RecordBatch,
    row: usize,
) -> Result<QueryOutput, PlanError> {
    let Reading { text, failure, build } = Reading::of(plan);
    let output = session.execute_plan_with(&text, plan.len(), binding, build, parameters, row).await;
    output.map_err(|error| failure.of(error))
}

/// The columns and parameters of a plan, without running it.
pub async fn describe(session: &Session, plan: &[u8], binding: &Binding) -> Result<Description, PlanError> {
    let Reading { text, failure, build } = Reading::of(plan);
    let described = session.describe_plan_of(&text, binding, build).boxed().await;
    described.map_err(|error| failure.of(error))
}

/// The serialized plan of a query. It is analyzed and optimized, and contains the names of the tables.
pub async fn from_sql(session: &Session, sql: &str) -> Result<Vec<u8>, PlanError> {
    let (failure, binding, statement) = (Failure::default(), Binding::default(), sql.to_string());
    let noted = failure.clone();
    let make = move |context: Arc<PlanContext>| async move {
        let plan = context.optimised(&statement).await?;
        let plan = produce(&plan, context.state()).map_err(|refusal| noted.keep(PlanError::Refused(refusal)))?;
        Ok::<_, EngineError>(encode_with_uris(&plan))
    };
    let result = session.with_plans(sql, &binding, make).boxed().await;
    result.map_err(|error| failure.of(error))
}

/// Reads a plan in any format that [`format_plan`] writes and that can be parsed again.
pub fn read(written: &[u8]) -> Result<Vec<u8>, PlanError> {
    parse(written, &Limits::default()).map(|plan| encode(&plan))
}

/// Converts a serialized plan to another format.
pub fn format_plan(plan: &[u8], format: PlanFormat) -> Result<Vec<u8>, PlanError> {
    match format {
        PlanFormat::Binary => Ok(plan.to_vec()),
        format => render(&decode(plan, &Limits::default())?, format),
    }
}

impl From<PlanError> for EngineError {
    fn from(error: PlanError) -> EngineError {
        match error {
            PlanError::Engine(error) => error,
            error => in_words(&error),
        }
    }
}

fn in_words(error: &PlanError) -> EngineError {
    EngineError::Plan { message: error.to_string(), hint: error.hint().map(str::to_string), kind: error.kind() }
}

type Build = Box<dyn FnOnce(Arc<PlanContext>) -> BoxFuture<'static, Result<LogicalPlan, EngineError>> + Send>;

/// A plan that is passed to the engine. One that cannot be decoded is a statement as well, so that lists and the audit show it.
struct Reading {
    text: String,
    failure: Failure,
    build: Build,
}

impl Reading {
    fn of(bytes: &[u8]) -> Reading {
        let decoded = decode(bytes, &Limits::default());
        let text = decoded.as_ref().map_or_else(|_| "substrait plan that cannot be read".to_string(), summary);
        let failure = Failure::default();
        let noted = failure.clone();
        let build: Build = Box::new(move |context| {
            Box::pin(async move {
                let result = match decoded {
                    Ok(plan) => logical_plan(&plan, &context).await,
                    Err(error) => Err(error),
                };
                result.map_err(|error| noted.keep(error))
            })
        });
        Reading { text, failure, build }
    }
}

/// Keeps the plan's error while the engine has its own form of it.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<PlanError>>>);

impl Failure {
    fn keep(&self, error: PlanError) -> EngineError {
        match error {
            PlanError::Engine(error) => error,
            error => {
                let words = in_words(&error);
                *self.0.lock() = Some(error);
                words
            }
        }
    }

    fn of(&self, error: EngineError) -> PlanError {
        match (error, self.0.lock().take()) {
            (EngineError::Plan { .. }, Some(plan_error)) => plan_error,
            (error, _) => PlanError::Engine(error),
        }
    }
}

/// Summarizes a plan in one line, without the content of literals.
fn summary(plan: &Plan) -> String {
    let (mut tables, mut has_more) = (Vec::new(), false);
    each(plan, &mut |part| {
        let PlanPart::Rel(rel) = part else { return };
        let Some(name) = tables_of(rel).map(shown_name) else { return };
        if tables.contains(&name) {
            return;
        }
        match tables.len() < TABLES_SHOWN_MAX {
            true => tables.push(name),
            false => has_more = true,
        }
    });
    let mut text = match (tables.is_empty(), has_more) {
        (true, _) => "substrait plan over no table".to_string(),
        (false, false) => format!("substrait plan over {}", tables.join(", ")),
        (false, true) => format!("substrait plan over {}, …", tables.join(", ")),
    };
    let mut functions = function_names(&Declared::of(plan));
    if functions.len() > FUNCTIONS_SHOWN_MAX {
        functions.truncate(FUNCTIONS_SHOWN_MAX);
        functions.push("…".into());
    }
    if !functions.is_empty() {
        text += &format!(" with the functions {}", functions.join(", "));
    }
    text
}

fn shown_name(names: &[String]) -> String {
    short(&names.join("."))
}

fn short(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The functions of users in a plan, each with the beginning of its hash.
fn function_names(declared: &Declared) -> Vec<String> {
    let users = declared.functions.values().filter(|function| function.origin() == Origin::User);
    let name = |function: &DeclaredName| {
        format!("{}@{}", short(name_of(function)), hash_of(function).chars().take(HASH_CHARS_SHOWN).collect::<String>())
    };
    users.map(name).collect::<BTreeSet<String>>().into_iter().collect()
}
