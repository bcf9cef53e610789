//! Decides from zone statistics in which zones every row passes the filter: there it need not be evaluated, and its columns are not read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::kernels::cmp::{gt, gt_eq, lt, lt_eq};
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, IsNotNullExpr, Literal};
use pmem_store::segment::ZoneColumn;

use super::conjunct::Condition;
use super::part::ScanPart;

/// A filter of comparisons with constants.
#[derive(Debug)]
pub struct WholeZones {
    /// The columns and what must hold for each of their values, which is at least that none is NULL.
    conditions: Vec<(usize, Option<Comparison>)>,
}

#[derive(Debug)]
struct Comparison {
    operator: Operator,
    constant: ScalarValue,
}

impl WholeZones {
    /// `None` if bounds do not tell whether all rows pass.
    pub fn new(conditions: &[Condition]) -> Option<WholeZones> {
        let conditions = conditions.iter().map(|condition| column_condition(&condition.expr)).collect::<Option<Vec<_>>>()?;
        (!conditions.is_empty()).then_some(WholeZones { conditions })
    }

    /// For each zone of the part, whether all its rows pass. `None` if it has no statistics of a column in its type.
    pub fn find(&self, part: &ScanPart) -> Result<Option<Vec<bool>>> {
        let mut whole = vec![true; part.zone_count()];
        for (column, comparison) in &self.conditions {
            let Some(zones) = part.zones(*column) else { return Ok(None) };
            let has_nulls = zones.null_count.iter().map(|count| count != Some(0));
            whole.iter_mut().zip(has_nulls).for_each(|(whole, has_nulls)| *whole &= !has_nulls);
            let Some(comparison) = comparison else { continue };
            if zones.min.data_type() != &comparison.constant.data_type() {
                return Ok(None);
            }
            for holds in comparison.of_bounds(&zones)? {
                let holds = (0..holds.len()).map(|zone| holds.is_valid(zone) && holds.value(zone));
                whole.iter_mut().zip(holds).for_each(|(whole, holds)| *whole &= holds);
            }
        }
        Ok(Some(whole))
    }
}

impl Comparison {
    /// All values compare in this way if these hold for the bounds of their zone.
    fn of_bounds(&self, zones: &ZoneColumn) -> Result<Vec<BooleanArray>> {
        let constant = self.constant.to_scalar()?;
        type Compare = fn(&dyn arrow::array::Datum, &dyn arrow::array::Datum) -> Result<BooleanArray, ArrowError>;
        let bounds: &[(&ArrayRef, Compare)] = match self.operator {
            Operator::Lt => &[(&zones.max, lt)],
            Operator::LtEq => &[(&zones.max, lt_eq)],
            Operator::Gt => &[(&zones.min, gt)],
            Operator::GtEq => &[(&zones.min, gt_eq)],
            // Of no other operator there is a comparison.
            _ => &[(&zones.min, gt_eq), (&zones.max, lt_eq)],
        };
        bounds.iter().map(|(bound, compare)| Ok(compare(bound, &constant)?)).collect()
    }
}

/// `None` for another condition than a comparison with a constant or `IS NOT NULL`.
fn column_condition(expr: &Arc<dyn PhysicalExpr>) -> Option<(usize, Option<Comparison>)> {
    if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
        return Some((test.arg().downcast_ref::<Column>()?.index(), None));
    }
    let comparison = expr.downcast_ref::<BinaryExpr>()?;
    let is_known = matches!(comparison.op(), Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq | Operator::Eq);
    let (left, right) = (comparison.left(), comparison.right());
    let (column, constant, operator) = match (left.downcast_ref::<Column>(), right.downcast_ref::<Column>()) {
        (Some(column), None) => (column, right, *comparison.op()),
        (None, Some(column)) => (column, left, comparison.op().swap()?),
        _ => return None,
    };
    let constant = constant.downcast_ref::<Literal>()?.value().clone();
    // Bounds of floats do not count NaN.
    let is_usable = is_known && !constant.is_null() && !constant.data_type().is_floating() && !constant.data_type().is_nested();
    is_usable.then_some((column.index(), Some(Comparison { operator, constant })))
}
