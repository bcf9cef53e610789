//! Encodes a logical plan for a node in as few bytes as possible.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Column;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, lit};
use datafusion_substrait::substrait::proto::{Plan, plan_rel};
use prost::Message;

use super::exec::RemoteRequest;
use crate::producer::produce_for_node;
use crate::refusal::Refusal;

/// An optimizer rule has no session. Only the names of the default catalog and schema are used.
static STATE: LazyLock<SessionState> = LazyLock::new(|| SessionStateBuilder::new().with_default_features().build());

pub struct EncodedFragment {
    pub work: RemoteRequest,
    /// Whether the plan has no columns; then each row is sent as a bit.
    pub is_bare: bool,
}

impl EncodedFragment {
    /// The received schema and the used columns; for a plan with columns these are `shown` and `projection`.
    pub fn columns(is_bare: bool, shown: &SchemaRef, projection: Option<Vec<usize>>) -> (SchemaRef, Option<Vec<usize>>) {
        match is_bare {
            true => (Arc::new(Schema::new(vec![Field::new(ROW, DataType::Boolean, false)])), Some(Vec::new())),
            false => (Arc::clone(shown), projection),
        }
    }
}

/// The column for rows of which no column is used.
const ROW: &str = "row";

/// `languages` are those of the functions that the node takes.
///
/// # Errors
///
/// What the plan has that a remote plan cannot express.
pub fn encode_fragment(plan: &LogicalPlan, languages: &Arc<[String]>) -> Result<EncodedFragment, Refusal> {
    let sent = with_names(plan)?;
    let (mut message, functions) = produce_for_node(&sent, &STATE, Arc::clone(languages))?;
    shorten(&mut message, &sent);
    let work = RemoteRequest::Plan { bytes: message.encode_to_vec().into(), functions, text: plan.display_indent().to_string() };
    Ok(EncodedFragment { work, is_bare: plan.schema().fields().is_empty() })
}

/// A result needs columns with unique names. If only the number of rows matters, each row is sent as a bit.
fn with_names(plan: &LogicalPlan) -> Result<Cow<'_, LogicalPlan>, Refusal> {
    let fields = plan.schema().fields();
    let mut names = HashSet::new();
    // A projection to no columns is replaced, and not nested.
    let input = match plan {
        LogicalPlan::Projection(chosen) if chosen.expr.is_empty() => chosen.input.as_ref(),
        plan => plan,
    };
    let columns = match fields.is_empty() {
        true => vec![lit(true).alias(ROW)],
        false if fields.iter().all(|field| names.insert(field.name())) => return Ok(Cow::Borrowed(plan)),
        false => {
            plan.schema().iter().enumerate().map(|(place, field)| Expr::Column(Column::from(field)).alias(short_name(place))).collect()
        }
    };
    Ok(Cow::Owned(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input.clone()))?)))
}

/// Removes what our nodes do not need: the commit of Substrait, and the names of columns, which come back in the requested order.
fn shorten(message: &mut Plan, plan: &LogicalPlan) {
    if let Some(version) = &mut message.version {
        version.git_hash.clear();
    }
    // The names of struct fields are in the same list.
    if plan.schema().fields().iter().any(|field| field.data_type().is_nested()) {
        return;
    }
    for relation in &mut message.relations {
        if let Some(plan_rel::RelType::Root(root)) = &mut relation.rel_type {
            root.names.iter_mut().enumerate().for_each(|(place, name)| *name = short_name(place));
        }
    }
}

fn short_name(place: usize) -> String {
    format!("c{place}")
}
