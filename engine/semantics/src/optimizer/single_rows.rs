//! `(SELECT b FROM t WHERE t.k = u.x)`: a correlated subquery that is not an aggregate.
//!
//! DataFusion makes a join of an aggregate and refuses other subqueries. So the subquery becomes an aggregate of a value and of the number
//! of rows, and [`OnlyRow`] takes the value if that number is one. The call also refers to the outer row: without that, DataFusion would
//! compute it for all rows below the join, and rows that are not needed may have several matches.
//!
//! `(SELECT max(b) FROM t WHERE t.k = u.x HAVING count(*) = 0)`: DataFusion drops the condition if it is true for no rows. So the value is
//! NULL if the condition is not true. Other forms that it would answer wrongly are refused, as in LATERAL.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::functions::core::named_struct;
use datafusion::functions_aggregate::expr_fn::{count, first_value};
use datafusion::logical_expr::logical_plan::{Filter, Projection};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Subquery, Volatility,
    lit, when,
};

use super::correlated_checks::{check_lateral, check_scalar, is_correlated};
use super::values_subqueries::has_subquery;
use crate::functions::map_under_names;
use common::error::EngineError;

static ONLY_ROW: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(OnlyRow { signature: Signature::any(2, Volatility::Immutable) })));

/// The function that takes the value of a struct of it and of the number of rows, if that is one. The second argument is of the outer row.
pub fn only_row() -> &'static ScalarUDF {
    &ONLY_ROW
}

/// Runs once the types are known.
pub fn single_rows(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| {
        if let LogicalPlan::Join(join) = &plan {
            check_lateral(&join.right)?;
        }
        if !matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::Aggregate(_)) {
            return Ok(Transformed::no(plan));
        }
        let schema = merge_schema(&plan.inputs());
        map_under_names(plan, |expr| expr.transform_up(|part| in_expr(part, &schema)))
    })
    .data()
}

fn in_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(mut subquery) = expr else { return Ok(Transformed::no(expr)) };
    if !is_correlated(&subquery) {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    let rewritten = with_condition_in_value(&subquery.subquery)?.map(Arc::new);
    let is_rewritten = rewritten.is_some();
    subquery.subquery = rewritten.unwrap_or(subquery.subquery);
    check_scalar(&subquery.subquery)?;
    match outer_column(&subquery, schema) {
        Some(outer) if has_plain_rows(&subquery.subquery)? => {
            let value = ONLY_ROW.call(vec![Expr::ScalarSubquery(with_count(subquery)?), outer]);
            Ok(Transformed::yes(value))
        }
        _ => {
            let subquery = Expr::ScalarSubquery(subquery);
            Ok(if is_rewritten { Transformed::yes(subquery) } else { Transformed::no(subquery) })
        }
    }
}

/// For an aggregate that has exactly one row without its HAVING.
fn with_condition_in_value(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = plan else { return Ok(None) };
    let ([value], LogicalPlan::Filter(Filter { predicate, input, .. })) = (expr.as_slice(), input.as_ref()) else { return Ok(None) };
    let is_of_rows = !predicate.contains_outer() && !has_subquery(predicate);
    if !is_of_rows || !matches!(input.as_ref(), LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty()) {
        return Ok(None);
    }
    let name = value.schema_name().to_string();
    let value = when(predicate.clone(), value.clone().unalias()).end()?.alias(name);
    Ok(Some(LogicalPlan::Projection(Projection::try_new(vec![value], Arc::clone(input))?)))
}

/// A column of the outer row, if the schema has all outer columns of the subquery.
fn outer_column(subquery: &Subquery, schema: &DFSchema) -> Option<Expr> {
    let outer = subquery.outer_ref_columns.iter().map(|column| match column {
        Expr::OuterReferenceColumn(_, column) if schema.has_column(column) => Some(Expr::Column(column.clone())),
        _ => None,
    });
    outer.collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// Whether nothing limits the number of rows or selects among them.
pub fn has_plain_rows(plan: &LogicalPlan) -> Result<bool> {
    let mut is_plain = plan.schema().fields().len() == 1 && plan.max_rows().is_none_or(|rows| rows > 1);
    plan.apply(|node| {
        use LogicalPlan::{Filter, Join, Projection, SubqueryAlias, TableScan};
        is_plain &= matches!(node, Filter(_) | Join(_) | Projection(_) | SubqueryAlias(_) | TableScan(_));
        Ok(if is_plain { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_plain)
}

fn with_count(subquery: Subquery) -> Result<Subquery> {
    let plan = Arc::unwrap_or_clone(subquery.subquery);
    let Some((qualifier, field)) = plan.schema().iter().next() else { return internal_err!("a subquery without columns") };
    let value = Expr::from((qualifier, field));
    let found = vec![first_value(value, Vec::new()).alias("__value"), count(lit(1_i64)).alias("__rows")];
    let plan = LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), found)?;
    let columns: Vec<Expr> = plan.schema().iter().map(Expr::from).collect();
    let [value, rows] = <[Expr; 2]>::try_from(columns).or_else(|_| internal_err!("an aggregate of two values has others"))?;
    let both = named_struct().call(vec![lit("value"), value, lit("rows"), rows]);
    // Columns of the condition will be added to it.
    Ok(Subquery { subquery: Arc::new(plan.project(vec![both.alias("__only_row")])?.build()?), ..subquery })
}

/// Takes the value of a subquery that also returns its number of rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OnlyRow {
    signature: Signature,
}

impl ScalarUDFImpl for OnlyRow {
    fn name(&self) -> &str {
        "only_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Struct(fields), _] if fields.len() == 2 => Ok(fields[0].data_type().clone()),
            _ => internal_err!("only_row of {types:?}"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(found) = args.args.first() else { return internal_err!("only_row of nothing") };
        let found = found.to_array(args.number_rows)?;
        let found = found.as_struct();
        let (values, rows) = (found.column(0), found.column(1).as_primitive::<Int64Type>());
        let is_there = |row: usize| found.nulls().is_none_or(|nulls| nulls.is_valid(row));
        if rows.iter().enumerate().any(|(row, rows)| rows.is_some_and(|rows| rows > 1) && is_there(row)) {
            let hint = Some("write an aggregate, such as (SELECT max(x) FROM …), or have the condition name a key".to_string());
            let message = "the subquery gives more than one row where one value is expected".to_string();
            return Err(EngineError::Execution { message, hint }.into_datafusion());
        }
        // A value beneath a NULL does not count.
        match found.nulls() {
            None => Ok(ColumnarValue::Array(Arc::clone(values))),
            Some(nulls) => Ok(ColumnarValue::Array(nullif(values, &BooleanArray::new(!nulls.inner(), None))?)),
        }
    }
}
