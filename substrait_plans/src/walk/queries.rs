//! Questions about a plan before it runs.

use std::collections::{BTreeMap, HashSet};

use super::{PlanPart, each};
use crate::proto::expression::RexType;
use crate::proto::read_rel::ReadType;
use crate::proto::rel::RelType;
use crate::proto::{Plan, Rel, Type};

/// The names of the tables that a plan reads, each once, in the order of the plan.
pub fn tables(plan: &Plan) -> Vec<String> {
    let mut tables: Vec<String> = Vec::new();
    each(plan, &mut |part| {
        if let PlanPart::Rel(rel) = part
            && let Some(names) = tables_of(rel)
        {
            let name = names.join(".");
            if !tables.contains(&name) {
                tables.push(name);
            }
        }
    });
    tables
}

/// The name of the table that a relation reads; `None` for other relations.
pub fn tables_of(rel: &Rel) -> Option<&[String]> {
    match &rel.rel_type {
        Some(RelType::Read(read)) => match &read.read_type {
            Some(ReadType::NamedTable(table)) => Some(&table.names),
            _ => None,
        },
        _ => None,
    }
}

/// The parameters that a plan leaves open, by anchor, with their types if the plan has them.
pub fn typed_parameters(plan: &Plan) -> BTreeMap<u32, Option<&Type>> {
    let mut parameters = BTreeMap::new();
    each(plan, &mut |part| {
        if let PlanPart::Expression(expression) = part
            && let Some(RexType::DynamicParameter(parameter)) = &expression.rex_type
        {
            let data_type = parameters.entry(parameter.parameter_reference).or_insert(None);
            *data_type = data_type.or(parameter.r#type.as_ref());
        }
    });
    let bound = bound_parameters(plan);
    parameters.retain(|anchor, _| !bound.contains(anchor));
    parameters
}

/// The anchors of the parameters that have a value in the plan.
pub fn bound_parameters(plan: &Plan) -> HashSet<u32> {
    plan.parameter_bindings.iter().map(|binding| binding.parameter_anchor).collect()
}
