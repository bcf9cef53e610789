//! A plan while it is written.

use std::sync::Arc;

use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use engine::PortableFunction;

use super::registry::Registry;
use crate::decode::{Limits, decode, encode, version};
use crate::error::PlanError;
use crate::proto::{Plan, PlanRel, RelRoot, plan_rel};
use crate::refusal::Refusal;
use crate::types::{TypeAnchors, names_of};

/// Higher than the limit of protobuf's readers, and low enough for a thread's stack.
const NESTED_MAX: usize = 64;

/// Writes expressions over the columns of one schema, by position.
#[derive(Debug, Default)]
pub struct Writer {
    pub(super) registry: Registry,
    pub(super) types: TypeAnchors,
    pub(super) default_catalog: String,
    pub(super) default_schema: String,
    /// The names of table functions.
    pub(super) table_functions: Vec<String>,
    /// The number of columns before those of the schema: for expressions over the right side of a join, the columns of its left side.
    pub(super) columns_before: usize,
    nested: usize,
    /// The languages of the functions of users that a node takes; `None` for other readers.
    pub(super) languages: Option<Arc<[String]>>,
    /// The functions of users that the plan names.
    pub(super) user_functions: Vec<Arc<PortableFunction>>,
}

impl Writer {
    pub fn new(state: &SessionState) -> Writer {
        let catalog = &state.config_options().catalog;
        Writer {
            default_catalog: catalog.default_catalog.clone(),
            default_schema: catalog.default_schema.clone(),
            table_functions: state.table_functions().keys().cloned().collect(),
            ..Writer::default()
        }
    }

    /// The plan, and the functions of users that it names.
    pub fn plan(mut self, plan: &LogicalPlan) -> Result<(Plan, Vec<Arc<PortableFunction>>), Refusal> {
        let root = RelRoot { input: Some(self.rel(plan)?), names: names_of(plan.schema().as_arrow()) };
        let (extension_urns, extensions) = self.registry.declarations(&self.types);
        let plan = Plan {
            version: Some(version()),
            extension_urns,
            extensions,
            relations: vec![PlanRel { rel_type: Some(plan_rel::RelType::Root(root)) }],
            ..Plan::default()
        };
        // Readers have limits; that of depth is the same for all protobuf readers. A plan that nobody could read is refused here.
        match decode(&encode(&plan), &Limits::default()) {
            Ok(_) => Ok((plan, self.user_functions)),
            Err(PlanError::TooDeep { .. }) => Err(too_deep()),
            Err(error) => Err(Refusal::new("the query", error.to_string())),
        }
    }

    /// Runs `write` one level deeper in the plan.
    pub(super) fn nested<T>(&mut self, write: impl FnOnce(&mut Writer) -> Result<T, Refusal>) -> Result<T, Refusal> {
        if self.nested >= NESTED_MAX {
            return Err(too_deep());
        }
        self.nested += 1;
        let written = write(self);
        self.nested -= 1;
        written
    }
}

fn too_deep() -> Refusal {
    Refusal::new(
        "a query whose operations stand inside each other this deep",
        "readers of plans take 100 levels, some thirty operations; give a part of it a name with CREATE TABLE AS",
    )
}
