//! Sort keys. The library aborts on an unknown direction.

use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::expr::Sort;
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::SortField;
use crate::proto::sort_field::{SortDirection, SortKind};

pub async fn sorts(consumer: &Consumer<'_>, of: &[SortField], schema: &DFSchema) -> DfResult<Vec<Sort>> {
    let mut sorts = Vec::with_capacity(of.len());
    for sort in of {
        let (asc, nulls_first) = sort_direction(sort, &"a key")?;
        let key = sort.expr.as_ref().ok_or_else(|| PlanError::missing("the key", "a sort"))?;
        let expr = consumer.consume_expression(key, schema).await?;
        sorts.push(Sort { expr, asc, nulls_first });
    }
    Ok(sorts)
}

/// Whether the order is ascending, and whether NULLs come first.
pub fn sort_direction(sort: &SortField, place: &dyn std::fmt::Display) -> Result<(bool, bool), PlanError> {
    let direction = match &sort.sort_kind {
        Some(SortKind::Direction(direction)) => *direction,
        Some(SortKind::ComparisonFunctionReference(_)) => {
            return Err(PlanError::unsupported("a sort by a function that compares", place));
        }
        None => return Err(PlanError::missing("the direction of a sort", place)),
    };
    match SortDirection::try_from(direction) {
        Ok(SortDirection::AscNullsFirst) => Ok((true, true)),
        Ok(SortDirection::AscNullsLast) => Ok((true, false)),
        Ok(SortDirection::DescNullsFirst) => Ok((false, true)),
        Ok(SortDirection::DescNullsLast) => Ok((false, false)),
        // Equal keys must be adjacent; any order does that.
        Ok(SortDirection::Clustered) => Ok((true, false)),
        Ok(SortDirection::Unspecified) => Err(PlanError::missing("the direction of a sort", place)),
        Err(_) => Err(PlanError::invalid(format!("a sort in the direction {direction}"), place)),
    }
}
