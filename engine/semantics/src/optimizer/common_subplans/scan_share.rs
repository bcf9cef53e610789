//! Which share of a table's rows the conditions of its scan leave.

use std::collections::HashMap;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::logical_plan::TableScan;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// Of a range of values that has next to none.
const SHARE_MIN: f64 = 0.001;

/// From the numbers of distinct values and the bounds of columns. Of other conditions than equalities and ranges it says 1, for all rows.
pub fn scan_share(scan: &TableScan) -> f64 {
    if scan.filters.is_empty() {
        return 1.0;
    }
    let Some(statistics) = source_as_provider(&scan.source).ok().and_then(|table| table.statistics()) else { return 1.0 };
    let columns = Columns { schema: scan.source.schema(), statistics };
    // What both ends of a range cut off.
    let mut cuts: HashMap<usize, f64> = HashMap::new();
    let mut share = 1.0;
    for filter in scan.filters.iter().flat_map(split_conjunction) {
        match columns.cut(filter) {
            Some((column, cut)) => *cuts.entry(column).or_default() += cut,
            None => share *= columns.equal_share(filter).min(1.0),
        }
    }
    cuts.values().map(|cut| (1.0 - cut).max(SHARE_MIN)).product::<f64>() * share
}

struct Columns {
    schema: SchemaRef,
    statistics: Statistics,
}

impl Columns {
    fn get(&self, expr: &Expr) -> Option<(usize, &ColumnStatistics)> {
        let Expr::Column(column) = expr else { return None };
        let index = self.schema.index_of(column.name()).ok()?;
        Some((index, self.statistics.column_statistics.get(index)?))
    }

    fn equal_share(&self, filter: &Expr) -> f64 {
        let of_values = |expr: &Expr, values: usize| match self.get(expr).map(|(_, column)| column.distinct_count) {
            Some(Precision::Exact(distinct) | Precision::Inexact(distinct)) => values as f64 / distinct.max(1) as f64,
            _ => 1.0,
        };
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (left.as_ref(), right.as_ref()) {
                (column, Expr::Literal(..)) | (Expr::Literal(..), column) => of_values(column, 1),
                _ => 1.0,
            },
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => self.equal_share(left) + self.equal_share(right),
            Expr::InList(InList { expr, list, negated: false }) => of_values(expr, list.len()),
            _ => 1.0,
        }
    }

    /// The column of a comparison with a constant, and the share of its range that the comparison cuts off.
    fn cut(&self, filter: &Expr) -> Option<(usize, f64)> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return None };
        let (column, op, value) = match (left.as_ref(), right.as_ref()) {
            (column, Expr::Literal(value, _)) => (column, *op, value),
            (Expr::Literal(value, _), column) => (column, op.swap()?, value),
            _ => return None,
        };
        let (index, column) = self.get(column)?;
        let (least, greatest) = (number(column.min_value.get_value()?)?, number(column.max_value.get_value()?)?);
        let value = number(value)?;
        let cut = match op {
            Operator::Gt | Operator::GtEq => value - least,
            Operator::Lt | Operator::LtEq => greatest - value,
            _ => return None,
        };
        (greatest > least).then(|| (index, (cut / (greatest - least)).clamp(0.0, 1.0)))
    }
}

fn number(value: &ScalarValue) -> Option<f64> {
    let value = match value.data_type() {
        DataType::Date32 => value.cast_to(&DataType::Int32).ok()?,
        DataType::Date64 | DataType::Timestamp(..) => value.cast_to(&DataType::Int64).ok()?,
        data_type if data_type.is_numeric() => value.clone(),
        _ => return None,
    };
    match value.cast_to(&DataType::Float64).ok()? {
        ScalarValue::Float64(number) => number.filter(|number| number.is_finite()),
        _ => None,
    }
}
