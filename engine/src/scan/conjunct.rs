//! One condition of a scan's filter.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::take_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, LikeExpr, Literal};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};

use super::integer_set::IntegerSet;
use super::selection::Selection;

#[derive(Debug)]
pub struct Conjunct {
    test: Test,
    /// Positions, in the filter's columns, of the columns it reads.
    columns: Vec<usize>,
    /// A guess at what it costs a row, to put the cheap ones first.
    pub cost: usize,
}

#[derive(Debug)]
enum Test {
    /// Over the columns of the conjunct, in their order.
    Expr(Arc<dyn PhysicalExpr>),
    Integers(IntegerSet),
}

impl Conjunct {
    /// `expr` over the physical schema; `filter_columns` are the columns its batches will have.
    pub fn new(expr: &Arc<dyn PhysicalExpr>, physical: &SchemaRef, filter_columns: &[usize], integer_sets: bool) -> Result<Conjunct> {
        let mut used: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        used.sort_unstable();
        let positions = used.iter().filter_map(|column| filter_columns.iter().position(|other| other == column)).collect();
        let set = if integer_sets { IntegerSet::of(expr, physical) } else { None };
        let test = match set {
            Some(set) => Test::Integers(set),
            None => Test::Expr(reassign_expr_columns(Arc::clone(expr), &Arc::new(physical.project(&used)?))?),
        };
        let cost = match &test {
            Test::Integers(_) => 6,
            Test::Expr(_) => cost(expr),
        };
        Ok(Conjunct { test, columns: positions, cost })
    }

    /// What is left of `selection` when this holds as well; `batch` has the filter's columns.
    pub fn narrow(&self, batch: &RecordBatch, selection: Selection) -> Result<Selection> {
        let read = batch.project(&self.columns)?;
        match (&self.test, selection) {
            // Cheaper on all rows in place than gathering those that are left.
            (Test::Integers(set), selection) => Ok(selection.and(&set.contains(read.column(0)))),
            (Test::Expr(expr), Selection::Rows(rows)) => {
                let rest = take_record_batch(&read, &rows)?;
                Ok(Selection::and_of_listed(&rows, &boolean(expr, &rest)?)?)
            }
            (Test::Expr(expr), selection) => Ok(selection.and(&boolean(expr, &read)?)),
        }
    }
}

fn boolean(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    match as_boolean_array(&array) {
        Ok(array) => Ok(array.clone()),
        Err(_) => internal_err!("a filter is of type {}", array.data_type()),
    }
}

fn cost(expr: &Arc<dyn PhysicalExpr>) -> usize {
    let mut cost = 0;
    // The walk itself cannot fail.
    let _ = expr.apply(|node| {
        cost += if node.is::<Column>() || node.is::<Literal>() {
            1
        } else if node.is::<BinaryExpr>() {
            2
        } else if node.is::<InListExpr>() {
            10
        } else if node.is::<LikeExpr>() {
            30
        } else {
            20
        };
        Ok(TreeNodeRecursion::Continue)
    });
    cost
}
