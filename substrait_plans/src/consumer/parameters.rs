//! Parameters of a plan: those with a value in the plan become that value, the others stay open until it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::scalar::ScalarValue;

use super::exprs::literal;
use crate::declared::Declared;
use crate::error::PlanError;
use crate::proto::{DynamicParameter, Plan};
use crate::quirks::Quirks;
use crate::types::TypeReader;
use crate::walk::typed_parameters;

const PLACE: &str = "parameter_bindings";

/// An open parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// As the plan refers to it.
    pub anchor: u32,
    /// The name in the logical plan: `$1`, `$2`, … in the order of the anchors.
    pub id: String,
    pub data_type: DataType,
}

/// The parameters that a plan leaves open, by anchor.
pub fn parameters(plan: &Plan) -> Result<Vec<Parameter>, PlanError> {
    let declared = Declared::of(plan);
    let reader = TypeReader { declared: &declared, numbered: Quirks::of(plan).numbered_variations };
    let open = typed_parameters(plan).into_iter().zip(1..).map(|((anchor, of), number)| {
        let of = of.ok_or_else(|| PlanError::missing(format!("the type of parameter {anchor}"), "dynamic_parameter"))?;
        Ok(Parameter { anchor, id: format!("${number}"), data_type: reader.data_type(of, &"dynamic_parameter")? })
    });
    open.collect()
}

/// The expression for each parameter.
#[derive(Debug, Default)]
pub struct Bindings {
    values: BTreeMap<u32, ScalarValue>,
    open: BTreeMap<u32, Parameter>,
}

impl Bindings {
    pub fn of(plan: &Plan, reader: &TypeReader<'_>) -> Result<Bindings, PlanError> {
        let mut bindings = Bindings::default();
        for binding in &plan.parameter_bindings {
            let value = binding.value.as_ref().ok_or_else(|| PlanError::missing("a value", PLACE))?;
            bindings.values.insert(binding.parameter_anchor, literal(reader, value, &PLACE)?);
        }
        bindings.open.extend(parameters(plan)?.into_iter().map(|parameter| (parameter.anchor, parameter)));
        Ok(bindings)
    }

    pub fn expression(&self, of: &DynamicParameter) -> Result<Expr, PlanError> {
        if let Some(value) = self.values.get(&of.parameter_reference) {
            return Ok(Expr::Literal(value.clone(), None));
        }
        let unknown = || PlanError::invalid(format!("parameter {}, which has no type", of.parameter_reference), "dynamic_parameter");
        let parameter = self.open.get(&of.parameter_reference).ok_or_else(unknown)?;
        let field = Field::new(&parameter.id, parameter.data_type.clone(), true);
        Ok(Expr::Placeholder(Placeholder::new_with_field(parameter.id.clone(), Some(Arc::new(field)))))
    }
}
