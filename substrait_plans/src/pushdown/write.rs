//! A logical plan as the bytes that a node is sent: as few as say the same.

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
use crate::producer::produce;
use crate::refusal::Refusal;

/// An optimiser's rule has no session of its own, and of one the names of the default catalog and schema are used alone.
static STATE: LazyLock<SessionState> = LazyLock::new(|| SessionStateBuilder::new().with_default_features().build());

pub struct EncodedFragment {
    pub work: RemoteRequest,
    /// The plan has no columns, and its rows come as a bit each.
    pub is_bare: bool,
}

impl EncodedFragment {
    /// What comes, and what is used of it, where `shown` and `projection` say both of a plan with columns.
    pub fn columns(is_bare: bool, shown: &SchemaRef, projection: Option<Vec<usize>>) -> (SchemaRef, Option<Vec<usize>>) {
        match is_bare {
            true => (Arc::new(Schema::new(vec![Field::new(ROW, DataType::Boolean, false)])), Some(Vec::new())),
            false => (Arc::clone(shown), projection),
        }
    }
}

/// A bit for a row of which nothing is used.
const ROW: &str = "row";

/// # Errors
///
/// What the plan has that a plan for elsewhere cannot say.
pub fn encode_fragment(plan: &LogicalPlan) -> Result<EncodedFragment, Refusal> {
    let sent = with_names(plan)?;
    let mut message = produce(&sent, &STATE)?;
    shorten(&mut message, &sent);
    let work = RemoteRequest::Plan { bytes: message.encode_to_vec().into(), text: plan.display_indent().to_string() };
    Ok(EncodedFragment { work, is_bare: plan.schema().fields().is_empty() })
}

/// A result has columns, each with a name of its own. Rows of which nothing is used but their number are sent as a bit each.
fn with_names(plan: &LogicalPlan) -> Result<Cow<'_, LogicalPlan>, Refusal> {
    let fields = plan.schema().fields();
    let mut known = HashSet::new();
    // Nor is nothing chosen of something before.
    let input = match plan {
        LogicalPlan::Projection(chosen) if chosen.expr.is_empty() => chosen.input.as_ref(),
        plan => plan,
    };
    let columns = match fields.is_empty() {
        true => vec![lit(true).alias(ROW)],
        false if fields.iter().all(|field| known.insert(field.name())) => return Ok(Cow::Borrowed(plan)),
        false => {
            plan.schema().iter().enumerate().map(|(place, field)| Expr::Column(Column::from(field)).alias(short_name(place))).collect()
        }
    };
    Ok(Cow::Owned(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input.clone()))?)))
}

/// What says nothing to a node of ours: which commit of Substrait this is, and names of columns, which come back in the order they are
/// asked for.
fn shorten(message: &mut Plan, plan: &LogicalPlan) {
    if let Some(version) = &mut message.version {
        version.git_hash.clear();
    }
    // Names inside of structs are told in the same list.
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
