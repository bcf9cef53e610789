//! `SELECT area(w, h)`: the body of a function that users wrote in SQL takes the place of its call.
//!
//! This runs first, so that all other rules see a plan without such calls. An argument that changes each time it is computed must be used once:
//! its call would be computed several times.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, TableReference};
use datafusion::logical_expr::expr::{Cast, Exists, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_rewriter::{NamePreserver, SavedName};
use datafusion::logical_expr::logical_plan::SubqueryAlias;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Subquery};

use crate::functions::{InlineDefinition, InlineFunction, map_under_names};
use common::error::EngineError;
use common::names::FUNCTION_PARAMETERS as PARAMETERS;

/// The parts of an expression that one call stands for. Beyond this it takes long to plan, and few people wrote it knowingly.
const PARTS_MAX: usize = 4_000;
/// The same for all calls of a plan.
const PARTS_OF_ALL_MAX: usize = 20_000;

/// What was done in one plan.
#[derive(Default)]
struct Work {
    /// Subqueries that were given relations of their own.
    relations: Cell<usize>,
    parts: Cell<usize>,
}

pub fn inline_functions(plan: LogicalPlan) -> Result<LogicalPlan> {
    let work = Work::default();
    plan.transform_up_with_subqueries(|plan| {
        if !has_calls(&plan)? {
            return Ok(Transformed::no(plan));
        }
        let schema = match plan.inputs().as_slice() {
            [] => plan.schema().as_ref().clone(),
            inputs => merge_schema(inputs),
        };
        map_under_names(plan, |expr| expr.transform_up(|part| inlined(part, &schema, &work)))
    })
    .data()
}

fn has_calls(plan: &LogicalPlan) -> Result<bool> {
    let mut has_calls = false;
    plan.apply_expressions(|expr| {
        expr.apply(|part| {
            has_calls |= function_of(part).is_some();
            Ok(if has_calls { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(has_calls)
}

fn function_of(expr: &Expr) -> Option<&InlineFunction> {
    match expr {
        Expr::ScalarFunction(call) => call.func.inner().downcast_ref::<InlineFunction>(),
        _ => None,
    }
}

fn inlined(expr: Expr, schema: &DFSchema, work: &Work) -> Result<Transformed<Expr>> {
    let Some(function) = function_of(&expr) else { return Ok(Transformed::no(expr)) };
    let name = datafusion::logical_expr::ScalarUDFImpl::name(function).to_string();
    let Expr::ScalarFunction(ScalarFunction { args, .. }) = &expr else { return Ok(Transformed::no(expr)) };
    let types = args.iter().map(|argument| argument.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let definition = function.definition(&types)?;
    let mut arguments = HashMap::new();
    let mut parts = part_count(&definition.body)?;
    for ((parameter, argument), given) in definition.parameters.iter().zip(args).zip(&types) {
        let (use_count, in_subquery) = uses(definition, parameter.name())?;
        if (use_count > 1 || in_subquery) && argument.is_volatile() {
            let message = format!(
                "{name} computes its argument \"{}\" several times, and {} may differ each time",
                parameter.name(),
                argument.human_display()
            );
            let hint = Some("compute the argument in a subquery, or in a table, first".to_string());
            return Err(EngineError::Sql { message, position: None, hint }.into_datafusion());
        }
        parts = parts.saturating_add(use_count.saturating_mul(part_count(argument)?));
        let value = match given == parameter.data_type() {
            true => argument.clone(),
            false => Expr::Cast(Cast::new_from_field(Box::new(argument.clone()), Arc::clone(parameter))),
        };
        arguments.insert(parameter.name().as_str(), value);
    }
    work.parts.set(work.parts.get().saturating_add(parts));
    if parts > PARTS_MAX || work.parts.get() > PARTS_OF_ALL_MAX {
        let message = match parts > PARTS_MAX {
            true => format!("the call of {name} stands for an expression of more than {PARTS_MAX} parts"),
            false => format!("the calls of functions stand for expressions of more than {PARTS_OF_ALL_MAX} parts"),
        };
        let hint = Some("compute a part of it in a subquery, or in a table, first".to_string());
        return Err(EngineError::Sql { message, position: None, hint }.into_datafusion());
    }
    with_arguments(&definition.body, &arguments, schema, work).map(Transformed::yes)
}

/// With those of its subqueries.
fn part_count(expr: &Expr) -> Result<usize> {
    let mut count = 0;
    each_part(expr, &mut |_| count += 1)?;
    Ok(count)
}

/// How often the body has a parameter, and whether it may be computed more often: in a subquery.
fn uses(definition: &InlineDefinition, name: &str) -> Result<(usize, bool)> {
    let (mut count, mut in_subquery) = (0, false);
    each_part(&definition.body, &mut |part| match part {
        Expr::Column(column) if is_parameter(column) && column.name == name => count += 1,
        Expr::OuterReferenceColumn(_, column) if is_parameter(column) && column.name == name => {
            count += 1;
            in_subquery = true;
        }
        _ => {}
    })?;
    Ok((count, in_subquery))
}

/// Visits an expression with all that is in it, and in its subqueries.
fn each_part(expr: &Expr, visit: &mut dyn FnMut(&Expr)) -> Result<()> {
    expr.apply(|part| {
        visit(part);
        if let Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) = part
        {
            subquery.subquery.apply(|plan| plan.apply_expressions(|expr| each_part(expr, visit).map(|()| TreeNodeRecursion::Continue)))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// All columns of a body are parameters.
fn with_arguments(body: &Expr, arguments: &HashMap<&str, Expr>, schema: &DFSchema, work: &Work) -> Result<Expr> {
    let argument = |column: &Column| {
        arguments
            .get(column.name.as_str())
            .cloned()
            .ok_or_else(|| EngineError::internal(format!("{} is no parameter of the function", column.name)).into_datafusion())
    };
    let in_subquery = |mut subquery: Subquery| -> Result<Subquery> {
        let plan = with_own_relations(Arc::unwrap_or_clone(subquery.subquery), work)?.transform_down_with_subqueries(|plan| {
            map_under_names(plan, |expr| {
                expr.transform_down(|part| match part {
                    Expr::OuterReferenceColumn(_, column) if is_parameter(&column) => {
                        Ok(Transformed::new(outside(argument(&column)?, schema)?, true, TreeNodeRecursion::Jump))
                    }
                    part => Ok(Transformed::no(part)),
                })
            })
        });
        subquery.subquery = Arc::new(plan.data()?);
        subquery.outer_ref_columns = subquery.subquery.all_out_ref_exprs();
        Ok(subquery)
    };
    let replaced = body.clone().transform_down(|part| match part {
        Expr::Column(column) => Ok(Transformed::new(argument(&column)?, true, TreeNodeRecursion::Jump)),
        Expr::ScalarSubquery(subquery) => Ok(Transformed::yes(Expr::ScalarSubquery(in_subquery(subquery)?))),
        Expr::Exists(exists) => Ok(Transformed::yes(Expr::Exists(Exists { subquery: in_subquery(exists.subquery)?, ..exists }))),
        Expr::InSubquery(within) => {
            Ok(Transformed::yes(Expr::InSubquery(InSubquery { subquery: in_subquery(within.subquery)?, ..within })))
        }
        Expr::SetComparison(compared) => {
            Ok(Transformed::yes(Expr::SetComparison(SetComparison { subquery: in_subquery(compared.subquery)?, ..compared })))
        }
        part => Ok(Transformed::no(part)),
    });
    replaced.data()
}

/// A subquery of a body whose relations have names that nothing around it has: an argument may be a column of the same table, and DataFusion
/// would take the one for the other when it makes a join of the subquery.
fn with_own_relations(plan: LogicalPlan, work: &Work) -> Result<LogicalPlan> {
    let number = work.relations.replace(work.relations.get() + 1);
    let mut names: HashMap<TableReference, TableReference> = HashMap::new();
    plan.apply_with_subqueries(|plan| {
        let name = match plan {
            LogicalPlan::TableScan(scan) => &scan.table_name,
            LogicalPlan::SubqueryAlias(alias) => &alias.alias,
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        let position = names.len();
        names.entry(name.clone()).or_insert_with(|| TableReference::bare(format!("{}#{number}.{position}", name.table())));
        Ok(TreeNodeRecursion::Continue)
    })?;
    let new_name = |name: &TableReference| names.get(name).cloned();
    let renamed = |expr: Expr| {
        expr.transform_up(|part| {
            Ok(match part {
                Expr::Column(mut column) => match column.relation.as_ref().and_then(new_name) {
                    Some(relation) => {
                        column.relation = Some(relation);
                        Transformed::yes(Expr::Column(column))
                    }
                    None => Transformed::no(Expr::Column(column)),
                },
                Expr::OuterReferenceColumn(field, mut column) => {
                    let relation = column.relation.as_ref().and_then(new_name);
                    let is_new = relation.is_some();
                    column.relation = relation.or(column.relation);
                    Transformed::new_transformed(Expr::OuterReferenceColumn(field, column), is_new)
                }
                Expr::Alias(mut alias) => {
                    let relation = alias.relation.as_ref().and_then(new_name);
                    let is_new = relation.is_some();
                    alias.relation = relation.or(alias.relation);
                    Transformed::new_transformed(Expr::Alias(alias), is_new)
                }
                part => Transformed::no(part),
            })
        })
    };
    plan.transform_up_with_subqueries(|plan| {
        if let LogicalPlan::TableScan(scan) = &plan {
            let name = new_name(&scan.table_name).unwrap_or_else(|| scan.table_name.clone());
            return Ok(Transformed::yes(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(plan), name)?)));
        }
        let names = NamePreserver::new(&plan);
        let mut under_its_name = |expr: Expr| {
            // Other expressions are columns by their text, in which the old name stays.
            let saved = if matches!(expr, Expr::Column(_) | Expr::Alias(_)) { SavedName::None } else { names.save(&expr) };
            Ok(renamed(expr)?.update_data(|expr| saved.restore(expr)))
        };
        let plan = plan.map_expressions(|expr| match expr {
            // The columns are made of the parts. A grouping set with an alias would no longer be a grouping set.
            Expr::GroupingSet(_) => expr.map_children(&mut under_its_name),
            expr => under_its_name(expr),
        })?;
        Ok(Transformed::yes(match plan.data {
            LogicalPlan::SubqueryAlias(alias) => {
                let name = new_name(&alias.alias).unwrap_or(alias.alias);
                LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(alias.input, name)?)
            }
            plan => plan.recompute_schema()?,
        }))
    })
    .data()
}

/// The relation of the parameters has a name that no user writes.
fn is_parameter(column: &Column) -> bool {
    column.relation.as_ref().is_some_and(|relation| relation.table() == PARAMETERS)
}

/// An expression as a subquery of its plan sees it.
fn outside(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.transform_down(|part| match part {
        Expr::Column(column) => {
            let field: FieldRef = Arc::clone(schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        part => Ok(Transformed::no(part)),
    })
    .data()
}
