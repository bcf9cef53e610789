//! Plans calls of table functions with parameters; DataFusion plans all others.

use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableSource};
use datafusion::sql::sqlparser::ast::{FunctionArg, FunctionArgExpr, TableFactor};

use super::slots::{Slot, Slots, Substitute, missing};
use super::unset::UnsetTable;
use super::{FunctionParameters, SlotValues};
use crate::parameters::{parameter_number, parameter_numbers};
use common::error::EngineError;
use common::messages::counted;

impl RelationPlanner for FunctionParameters {
    fn plan_relation(&self, relation: TableFactor, context: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        let Some(call) = Call::of(&relation, context) else { return Ok(RelationPlanning::Original(Box::new(relation))) };
        let values = self.values.lock().clone();
        let source = match &values {
            SlotValues::Nothing => return Err(no_value(&call.parameter, 0).into()),
            SlotValues::Types => self.described(&call, context)?,
            SlotValues::Values(values) => self.filled(&call, values, context)?,
        };
        let plan = LogicalPlanBuilder::scan(TableReference::bare(call.scanned), source, None)?.build()?;
        let (TableFactor::Table { alias, .. } | TableFactor::Function { alias, .. }) = relation else { unreachable!("it is a call") };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

/// A table function with parameters among its arguments.
struct Call {
    function: String,
    arguments: Vec<Expr>,
    /// One of those parameters.
    parameter: String,
    /// The name of the table in the plan.
    scanned: String,
}

impl Call {
    /// `None` for everything else in FROM, and for calls that DataFusion refuses.
    fn of(relation: &TableFactor, context: &mut dyn RelationPlannerContext) -> Option<Call> {
        let (name, arguments, is_lateral) = match relation {
            TableFactor::Table { name, args: Some(arguments), .. } => (name, &arguments.args, false),
            TableFactor::Function { name, args, .. } => (name, args, true),
            _ => return None,
        };
        let [function] = name.0.as_slice() else { return None };
        let function = function.as_ident()?.to_string();
        // Checked before the arguments are planned: a list of centroids is long.
        let parameter = format!("${}", parameter_numbers(arguments).first()?);
        let mut planned = Vec::new();
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { return None };
            planned.push(context.sql_expr_to_logical_expr(expr.clone(), &DFSchema::empty()).ok()?);
        }
        let scanned = if is_lateral { function.clone() } else { format!("{function}()") };
        Some(Call { function, arguments: planned, parameter, scanned })
    }
}

impl FunctionParameters {
    /// The function's table, with the values inserted.
    fn filled(&self, call: &Call, values: &[ScalarAndMetadata], context: &dyn RelationPlannerContext) -> Result<Arc<dyn TableSource>> {
        let raw = |argument: &Expr| {
            let replaced = argument.clone().transform_up(|part| match &part {
                Expr::Placeholder(placeholder) => Ok(Transformed::yes(literal(value_of(placeholder, values)?))),
                _ => Ok(Transformed::no(part)),
            });
            replaced.data()
        };
        let arguments = call.arguments.iter().map(raw).collect::<Result<Vec<_>>>()?;
        let slots = Slots { function: &call.function, arguments: &arguments };
        let fill = |argument: &Expr, slot: &Slot| match argument {
            Expr::Placeholder(placeholder) => {
                let (value, metadata) = value_of(placeholder, values)?.into_inner();
                let value = slot.fitted(&placeholder.id, value)?;
                Ok(literal(ScalarAndMetadata::new(value, metadata)))
            }
            nested => raw(nested),
        };
        let arguments = self.each_argument(call, &slots, fill)?;
        context.context_provider().get_table_function_source(&call.function, arguments)
    }

    /// The function's table without rows.
    fn described(&self, call: &Call, context: &dyn RelationPlannerContext) -> Result<Arc<dyn TableSource>> {
        let slots = Slots { function: &call.function, arguments: &call.arguments };
        let mut schema = None;
        let arguments = self.each_argument(call, &slots, |argument, slot| match &slot.stand_in {
            _ if parameter_in(argument).is_none() => Ok(argument.clone()),
            Substitute::Value(value) => Ok(Expr::Literal(value.clone(), None)),
            Substitute::Unneeded(columns) => {
                schema = Some(Arc::clone(columns));
                Ok(argument.clone())
            }
            Substitute::Missing => Err(missing(&call.function, &parameter_in(argument).unwrap_or_default()).into()),
        })?;
        let schema = match schema {
            Some(schema) => schema,
            None => context.context_provider().get_table_function_source(&call.function, arguments)?.schema(),
        };
        Ok(provider_as_source(Arc::new(UnsetTable(schema))))
    }

    /// Calls `make` for each argument and its slot, including named arguments.
    fn each_argument(&self, call: &Call, slots: &Slots<'_>, mut make: impl FnMut(&Expr, &Slot) -> Result<Expr>) -> Result<Vec<Expr>> {
        let mut make = |argument: &Expr, slot: Slot| {
            self.take(argument, &slot)?;
            make(argument, &slot)
        };
        let argument = |(position, argument): (usize, &Expr)| match argument {
            Expr::ScalarFunction(named) if slots.has_names(argument) => {
                let mut named = named.clone();
                for pair in named.args.chunks_exact_mut(2) {
                    let slot = match &pair[0] {
                        Expr::Literal(name, _) => slots.named(name.try_as_str().flatten().unwrap_or_default()),
                        _ => slots.named(""),
                    };
                    pair[1] = make(&pair[1], slot)?;
                }
                Ok(Expr::ScalarFunction(named))
            }
            argument => make(argument, slots.at(position)),
        };
        call.arguments.iter().enumerate().map(argument).collect()
    }

    /// Records the parameters of an argument with their types: the type of a cast, or else that of the slot.
    fn take(&self, argument: &Expr, slot: &Slot) -> Result<()> {
        let mut parameters = self.parameters.lock();
        let mut take = |placeholder: &Placeholder, field: FieldRef| {
            let field = placeholder.field.clone().unwrap_or(field);
            parameters.entry(placeholder.id.clone()).or_insert(field);
        };
        let of_place: FieldRef = Arc::new(Field::new("", slot.data_type.clone(), true));
        argument.apply(|part| {
            let (inner, field) = match part {
                Expr::Cast(cast) => (cast.expr.as_ref(), &cast.field),
                Expr::TryCast(cast) => (cast.expr.as_ref(), &cast.field),
                part => (part, &of_place),
            };
            if let Expr::Placeholder(placeholder) = inner {
                take(placeholder, Arc::clone(field));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }
}

fn parameter_in(argument: &Expr) -> Option<String> {
    let mut parameter = None;
    // Only the closure can fail.
    let _ = argument.apply(|part| match part {
        Expr::Placeholder(placeholder) => {
            parameter = Some(placeholder.id.clone());
            Ok(TreeNodeRecursion::Stop)
        }
        _ => Ok(TreeNodeRecursion::Continue),
    });
    parameter
}

/// The value, cast to the type that `PREPARE p(BIGINT)` declares, if it declares one.
fn value_of(placeholder: &Placeholder, values: &[ScalarAndMetadata]) -> Result<ScalarAndMetadata> {
    let value = parameter_number(&placeholder.id).and_then(|number| values.get(number.checked_sub(1)?));
    let value = value.cloned().ok_or_else(|| no_value(&placeholder.id, values.len()))?;
    let Some(field) = &placeholder.field else { return Ok(value) };
    let (value, metadata) = value.into_inner();
    let declared = Slot::strict(field.data_type().clone(), ScalarValue::Null);
    Ok(ScalarAndMetadata::new(declared.fitted(&placeholder.id, value)?, metadata))
}

/// A NULL has no type, like the keyword NULL.
fn literal(value: ScalarAndMetadata) -> Expr {
    let (value, metadata) = value.into_inner();
    let value = if value.is_null() { ScalarValue::Null } else { value };
    Expr::Literal(value, metadata)
}

fn no_value(parameter: &str, values: usize) -> EngineError {
    let count = if values == 0 { "no value".to_string() } else { counted(values, "value") };
    let message = format!("the statement has the parameter {parameter} and was given {count}");
    let hint = "run it with a value for each parameter; those of PREPARE are given by EXECUTE".to_string();
    EngineError::Sql { message, position: None, hint: Some(hint) }
}
